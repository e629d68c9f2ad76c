"""Every parameter of every estimator, from their docstrings."""

import inspect
import re
import textwrap

from numpydoc.docscrape import NumpyDocString
from sphinx.util.docutils import SphinxDirective

import squareone


def estimators():
    """Public estimators by name, in the order of the reference's first letters."""
    public = {name: getattr(squareone, name) for name in squareone.__all__}
    return {name: each for name, each in public.items() if inspect.isclass(each)}


def parameters(estimator):
    """Groups of parameters that are told together: their names, their kind and what they mean.

    Raises
    ------
    ValueError
        Where the docstring and the constructor do not have the same ones.
    """
    groups, names = [], []
    for name, kind, lines in NumpyDocString(inspect.getdoc(estimator))["Parameters"]:
        names += [each for each in re.split(r",\s*", name) if each]
        if lines:  # a list of names that goes over a line end is told after its last line
            groups.append((names, kind, " ".join(line.strip() for line in lines)))
            names = []
    told = [each for group, _, _ in groups for each in group] + names
    if differ := set(told) ^ set(inspect.signature(estimator).parameters):
        msg = f"{estimator.__name__}: in its docstring or in its constructor only: {differ}"
        raise ValueError(msg)
    return groups


def table(name, estimator):
    """A table in a box that opens, as reStructuredText."""
    defaults = inspect.signature(estimator).parameters
    rows = []
    for names, kind, text in parameters(estimator):
        shown = [
            f"``{each}={defaults[each].default!r}``"
            if defaults[each].default is not inspect.Parameter.empty
            else f"``{each}``"
            for each in names
        ]
        values = re.sub(r",?\s*(default=.*|optional)$", "", kind)
        rows.append(f"* - {', '.join(shown)}\n  - {values}\n  - {text}")
    inside = "\n".join(
        [".. list-table::", "   :header-rows: 1", "   :widths: 28 20 52", ""]
        + [textwrap.indent("* - parameter\n  - values\n  - meaning", "   ")]
        + [textwrap.indent(row, "   ") for row in rows]
    )
    return f".. dropdown:: {name}\n\n{textwrap.indent(inside, '   ')}\n"


class EstimatorParameters(SphinxDirective):
    """A box for each estimator."""

    def run(self):
        """As they are in the docstrings."""
        text = "\n".join(table(name, each) for name, each in estimators().items())
        return self.parse_text_to_nodes(text)


def setup(app):
    """Make the tables known."""
    app.add_directive("estimator-parameters", EstimatorParameters)
    return {"parallel_read_safe": True}
