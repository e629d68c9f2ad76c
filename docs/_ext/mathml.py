"""Formulas as MathML, written when a page is built: browsers show it without scripts or fonts."""

from html import escape

from docutils import nodes
from latex2mathml.converter import convert

#: Sphinx's own: several lines, or an ampersand, are rows of an alignment.
_ROWS = r"\begin{aligned}%s\end{aligned}"


def mathml(formula, *, display):
    """A formula as a ``<math>`` element, which says its TeX to who copies or reads it aloud."""
    written = convert(formula, display="block" if display else "inline")
    return written.replace("<math ", f'<math alttext="{escape(formula, quote=True)}" ', 1)


def inline(translator, node):
    """Within a sentence."""
    translator.body.append(mathml(node.astext(), display=False))
    raise nodes.SkipNode


def block(translator, node):
    """On lines of its own, each with a number where it has one."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    for formula in node.astext().split("\n\n"):
        if not formula.strip():
            continue
        aligned = "\\\\" in formula or "&" in formula
        whole = _ROWS % formula if aligned and "\\begin" not in formula else formula
        translator.body.append(mathml(whole.strip(), display=True))
    translator.body.append("</div>")
    raise nodes.SkipNode


def setup(app):
    """Make them the way in which formulas are written."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True}
