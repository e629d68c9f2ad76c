"""Tables of solvers, from the registry."""

import re

from sphinx.util.docutils import SphinxDirective

from squareone.solvers.registry import SOLVERS


def _table(header, rows, widths):
    """Cells, as reStructuredText, in a table."""
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for cells in [header, *rows]:
        marks = ["   * - ", *["     - "] * (len(cells) - 1)]
        lines += [mark + cell for mark, cell in zip(marks, cells, strict=True)]
    return "\n".join(lines)


class SolverCosts(SphinxDirective):
    """The solvers with all rows (``exact``) or with ``centers``, and what they cost."""

    required_arguments = 1

    def run(self):
        """A table from the registry."""
        with_centers = self.arguments[0] == "centers"
        rows = [
            [f'``"{name}"``', *(re.sub(r"\$(.+?)\$", r":math:`\1`", f) for f in solver.formulas)]
            for name, solver in SOLVERS.items()
            if solver.with_centers == with_centers
        ]
        header = ["``solver``", "factors", "cost once", "cost per λ", "numbers"]
        return self.parse_text_to_nodes(_table(header, rows, "16 24 24 24 12"))


class SolverAbilities(SphinxDirective):
    """What each solver is, and what it can do beyond a fit and its leave-one-out error."""

    def run(self):
        """A table from the registry."""
        abilities = {
            "rows in blocks": lambda solver: solver.reads_blocks,
            "exact leave-one-out": lambda solver: not solver.iterates,
            "likelihood": lambda solver: solver.likelihood,
            "posterior": lambda solver: solver.posterior,
            "alpha = 0": lambda solver: solver.alpha_zero,
            "checkpoint": lambda solver: solver.checkpoints,
        }
        rows = [
            [f'``"{name}"``', solver.summary]
            + ["yes" if able(solver) else "–" for able in abilities.values()]
            for name, solver in SOLVERS.items()
        ]
        header = ["``solver``", "what it is", *abilities]
        return self.parse_text_to_nodes(_table(header, rows, "12 40 8 8 8 8 8 8"))


def setup(app):
    """Make the tables known."""
    app.add_directive("solver-costs", SolverCosts)
    app.add_directive("solver-abilities", SolverAbilities)
    return {"parallel_read_safe": True}
