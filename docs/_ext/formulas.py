"""Formulas as TeX in the page, which KaTeX shows from files beside it: no network is needed."""

from html import escape

from docutils import nodes
from sphinx.util.math import get_node_equation_number


def inline(translator, node):
    """Within a sentence."""
    text = escape(node.astext(), quote=False)
    translator.body.append(f'<span class="formula">{text}</span>')
    raise nodes.SkipNode


def block(translator, node):
    """On lines of its own; more than one are aligned at their ampersands, as Sphinx has it."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    for formula in filter(None, map(str.strip, node.astext().split("\n\n"))):
        several = ("\\\\" in formula or "&" in formula) and "\\begin" not in formula
        whole = f"\\begin{{aligned}}{formula}\\end{{aligned}}" if several else formula
        text = escape(whole, quote=False)
        translator.body.append(f'<div class="formula">{text}</div>\n')
    translator.body.append("</div>")
    raise nodes.SkipNode


def setup(app):
    """Make this the way in which formulas are written."""
    app.add_html_math_renderer("katex", (inline, None), (block, None))
    app.add_css_file("katex/katex.min.css")
    app.add_js_file("katex/katex.min.js", loading_method="defer")
    app.add_js_file("formulas.js", loading_method="defer")
    return {"parallel_read_safe": True}
