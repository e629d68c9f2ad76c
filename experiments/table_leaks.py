"""Columns that give the target away, planted into real tables: which of them check SQ001 names.

``python -m experiments.table_leaks``
"""

import os
import warnings
from pathlib import Path

import numpy as np

from experiments.leaks import KINDS, plant
from experiments.report import Report, parser
from squareone.report.outer_errors import left_out_errors
from squareone.report.table_checks import checks_of_table
from squareone.rows.table_reader import read_table
from squareone.tables import TableClassifier, TableEncoder, TableRegressor
from squareone.tables.encoded_rows import rows_of_table
from squareone.tables.target_choice import target_of

FOLDER = Path(os.environ.get("SQUAREONE_DATA", "nowhere")) / "tables"
TABLES = tuple(sorted(path.name.partition(".")[0] for path in FOLDER.glob("*.csv.gz")))
ROWS, QUICK_ROWS = 700, 120
HEADER = ("table", "rows", *KINDS, "none planted")
NOTES = f"""
Of each table {ROWS} rows at random at most, a Gaussian kernel, and a column more that is not known
before the target is: a copy with noise, a flag or a band set once the target is known, a column
that is filled in for one of two classes only, and a number dealt in the order of the target.
*found*: check SQ001 names that column; *–*: a table without two classes cannot have this leak. In
the last column what SQ001 names in the table as it is: each is a false alarm, or something to look
at. To reach: 90 % found, and names on at most one table without a leak.
"""


def leaks_of(name: str, most: int = ROWS) -> tuple[int, dict[str, bool], list[str]]:
    """Rows of a table, which of the leaks that were planted are found, and what is named without.

    Parameters
    ----------
    name : str
        One of ``TABLES``.
    most : int
        Rows at most, drawn at random.
    """
    file = read_table(FOLDER / f"{name}.csv.gz")
    target = target_of(file, "target")
    rng = np.random.default_rng(0)
    some = np.sort(rng.permutation(target.values.size)[:most])
    plain = rows_of_table(file.table.drop_columns(["target"]), target.rows[some])
    y = target.values[some]
    kind = TableRegressor if target.task == "regression" else TableClassifier
    found: dict[str, bool] = {}
    suspected: list[str] = []
    for leak in (None, *KINDS):
        table = plain if leak is None else plant(plain, y, target.task, leak, rng)
        if table is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kind("gaussian", encoder=TableEncoder(random_state=0)).fit(table, y)
            outer = left_out_errors(model, y, np.arange(y.size))
            checks = checks_of_table(table, y, outer, model)
        named = [c for check in checks if check.code == "SQ001" for c in check.columns]
        if leak is None:
            suspected = named
        else:
            found[leak] = "leak" in named
    return y.size, found, suspected


def main() -> None:
    """Write the table."""
    options = parser(__doc__ or "", TABLES).parse_args()
    names = getattr(options, "only", ())
    partial = set(names) != set(TABLES)
    report = Report(
        "table_leaks", "Leaks", HEADER, NOTES, quick=options.quick, partial=partial,
        data="`tables` of the folder in SQUAREONE_DATA",
    )  # fmt: skip
    planted: dict[str, list[bool]] = {kind: [] for kind in KINDS}
    alarms = 0
    for name in names:
        rows, found, suspected = leaks_of(name, QUICK_ROWS if options.quick else ROWS)
        for kind, was_found in found.items():
            planted[kind].append(was_found)
        alarms += bool(suspected)
        cells = ("–" if kind not in found else "found" if found[kind] else "no" for kind in KINDS)
        report.add(name, f"{rows:,}", *cells, ", ".join(suspected) or "nothing")
    counts = (f"{sum(each)} of {len(each)}" for each in planted.values())
    everything = [was_found for each in planted.values() for was_found in each]
    share = f"{np.mean(everything):.0%}" if everything else "–"
    report.add(f"all: {share} found", "", *counts, f"names on {alarms} of {len(names)} tables")


if __name__ == "__main__":
    main()
