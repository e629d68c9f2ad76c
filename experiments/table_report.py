"""What the store of the comparison on tables says: a table, the goals, and a figure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from experiments.report import Report
from experiments.table_data import IN_TIME_ORDER

ROWS = 6_000  # training rows at most, where nothing else is asked for
RIVALS = ("trees", "trees_early")  # the better of the two is what every other is held against
RANKED = ("gauss", "auto", "trees", "trees_early", "trees_search", "xrfm")
SHOWN = ("gauss", "auto", "trees", "trees_early", "trees_search", "svm", "xrfm")
HEADER = (
    "table",
    "measure",
    "training rows",
    "splits",
    *SHOWN,
    "auto − better tree",
    "log loss: auto / CalibratedClassifierCV",
    "90 % intervals of auto contain",
)
NOTES = """\
Splits of 75/25 by `RandomState(seed).permutation(n)`: the first three quarters for training, of
these the first ones where there are more than shown. Three splits of a table beyond 20,000 rows,
five of the others, and one of chicago, which is trained on the past and tested on what came after.
**RMSE/sd** is the root mean squared error over the standard deviation of the test targets,
**% wrong** are classes. Means over the splits ± their standard error.
**gauss**: `RLSRegressor()` or `RLSClassifier()` on standardised numbers, with medians and
indicators where there are gaps, and words one-hot over √2. **auto**: `TableRegressor()` or
`TableClassifier()` on the table as it is. **trees**: `HistGradientBoostingRegressor()` or
`…Classifier()` with native categories and gaps. **trees_early**: the same with 500 rounds at a
learning rate of 0.05 and early stopping. **trees_search**: the best of 20 random settings by three
folds. **svm**: the best of a grid of C and γ by three folds, on the features of gauss. **xrfm**:
xRFM with its defaults on the features of gauss, a fifth of the rows held out for validation. All
but auto are given a date in parts: the day, the day of the year and the hour as numbers, and the
weekday as a word.
The **better tree** is that of trees and trees_early with the smaller mean error. A difference from
it is a mean over the splits, paired, ± its standard error; **equal** is one within a standard
error. One split has no standard error: nothing is equal there.
`tables-points.png`: for every table the error of each contestant over that of the better tree, ±
the standard error of the paired difference over the same.
Folds learn from four fifths of the training rows, so the mean square error that they promise
(minus `best_score_`) should be a little above that of the test rows, if anything. It is
**honest** where the mean difference over the splits is within two standard errors of one split,
that of the folds and that of the test rows together: splits share their rows, and so do not
average it away.
The table in order of time is left out: its test rows are not like those of the folds.
"""
TABLES = 25
MANY = 2_000  # rows of a table on which the error of folds is judged
ROUNDING = 1e-12  # relative, of means that are equal
LIMITS = {  # of the error of auto
    "california": 0.42,
    "diamonds": 0.155,
    "ames": 0.27,
    "spam": 4.7,
    "mammography": 1.3,
    "churn": 4.5,
    "hpc": 18.0,
}
STYLES = {
    "gauss": ("C0", "o"),
    "auto": ("C3", "D"),
    "trees": ("0.45", "|"),
    "trees_early": ("0.45", "x"),
    "trees_search": ("C2", "^"),
    "svm": ("C1", "s"),
    "xrfm": ("C4", "v"),
}

Record = dict[str, Any]
BySeed = dict[int, Record]


class Difference(NamedTuple):
    """Mean paired difference from another contestant, its standard error (NaN for one split)."""

    mean: float
    noise: float
    reference: float

    @property
    def smaller(self) -> bool:
        return self.mean < -ROUNDING * self.reference

    @property
    def verdict(self) -> str:
        if abs(self.mean) <= self.noise:
            return "equal"
        return "better" if self.mean < 0 else "worse" if self.mean > 0 else "equal"


class Results:
    """The records of one number of training rows, by table and contestant.

    Parameters
    ----------
    records : iterable of dict
        Of two for the same split, the later one counts.
    at_most : int or None
        Only those with so many training rows, or with all if the table has fewer or for None.
    """

    def __init__(self, records: Iterable[Record], at_most: int | None) -> None:
        self._records: dict[str, dict[str, BySeed]] = {}
        for record in records:
            wanted = record["available"] if at_most is None else min(at_most, record["available"])
            if record["rows"] == wanted:
                own = self._records.setdefault(record["table"], {})
                own.setdefault(record["contestant"], {})[record["seed"]] = record

    @property
    def tables(self) -> list[str]:
        """The tables there are, regressions first."""
        return sorted(
            self._records, key=lambda name: (not self.any_record(name)["regression"], name)
        )

    def any_record(self, table: str) -> Record:
        by_contestant = self._records[table]
        return next(iter(next(iter(by_contestant.values())).values()))

    def contestants(self, table: str) -> list[str]:
        return [*self._records[table]]

    def values(self, table: str, contestant: str, key: str = "error") -> dict[int, Any]:
        """Return a figure by split; empty where there is none."""
        by_seed = self._records.get(table, {}).get(contestant, {})
        return {seed: record[key] for seed, record in by_seed.items() if key in record}

    def mean(self, table: str, contestant: str, key: str = "error") -> float | None:
        values = self.values(table, contestant, key)
        return float(np.mean([*values.values()])) if values else None

    def paired(
        self, table: str, contestant: str, other: str, key: str = "error"
    ) -> Difference | None:
        """Return the difference on the splits that both have seen; None where there are none."""
        mine, theirs = (self.values(table, name, key) for name in (contestant, other))
        common = sorted(mine.keys() & theirs.keys())
        if not common:
            return None
        differences = np.array([mine[seed] - theirs[seed] for seed in common])
        reference = float(np.mean([theirs[seed] for seed in common]))
        return Difference(float(differences.mean()), _standard_error(differences), reference)

    def better_tree(self, table: str) -> str | None:
        """Return the one with the smaller mean error; None unless both are there."""
        means = {name: self.mean(table, name) for name in RIVALS}
        if None in means.values():
            return None
        return min(means, key=lambda name: means[name])

    def against_trees(self, table: str, contestant: str) -> Difference | None:
        tree = self.better_tree(table)
        return None if tree is None else self.paired(table, contestant, tree)

    def mean_ranks(self) -> tuple[dict[str, float], int]:
        """Return the mean rank of each contestant by mean error, and over how many tables.

        Contestants that no table has are left out, and then tables that one of the others lacks.
        """
        names = [n for n in RANKED if any(n in self.contestants(t) for t in self.tables)]
        rows = [[self.mean(table, name) for name in names] for table in self.tables]
        complete = [row for row in rows if None not in row]
        if not complete:
            return {}, 0
        ranks = rankdata(complete, axis=1).mean(axis=0)
        return dict(zip(names, ranks.tolist(), strict=True)), len(complete)


class Goal(NamedTuple):
    """What was to be reached, what was seen (empty: nothing yet), and whether it was reached."""

    what: str
    limit: str
    seen: str = ""
    met: bool | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        verdict = {True: "yes", False: "no", None: "–"}[self.met]
        return self.what, self.limit, self.seen or "–", verdict


def write_report(
    records: Sequence[Record], at_most: int | None = ROWS, tables: Sequence[str] | None = None
) -> None:
    """Write ``results/tables.md`` and its figure; ``tables-partial`` for some tables only."""
    chosen = [record for record in records if tables is None or record["table"] in tables]
    results = Results(chosen, at_most)
    if not results.tables:
        raise SystemExit("the store has nothing of these tables with so many training rows")
    rows = "all" if at_most is None else f"at most {at_most:,}"
    report = Report(
        "tables",
        f"Tables of mixed columns, {rows} training rows",
        HEADER,
        "\n".join([NOTES, _counts(results), _goals(chosen), _conditions(chosen)]),
        quick=False,
        partial=tables is not None,
        data="the store, which was filled before",
    )
    for table in results.tables:
        report.add(*_row(results, table))
    figure = _figure(results)
    if figure is not None:
        report.save(figure, "points")


def goals(records: Sequence[Record]) -> list[Goal]:
    """Return the goals, judged on what there is: at most 6,000 training rows except where said."""
    results, full = Results(records, ROWS), Results(records, None)
    return [
        *_no_worse_than_trees(results),
        _best_rank(results),
        _california(full),
        *(_in_every_tenth(results, table) for table in ("california", "diamonds")),
        *(_error_at_most(results, table, limit) for table, limit in LIMITS.items()),
        _intervals(results),
        _honest(results),
        _log_loss(results),
    ]


def _no_worse_than_trees(results: Results) -> list[Goal]:
    found = [d for t in results.tables if (d := results.against_trees(t, "auto")) is not None]
    verdicts = [difference.verdict for difference in found]
    better, equal = verdicts.count("better"), verdicts.count("equal")
    lower = sum(difference.smaller for difference in found)
    complete = len(found) == TABLES
    whats = ("auto no worse than the better tree", "the same without those that are equal")
    return [
        Goal(
            f"tables: {what}",
            f"≥ {limit} of {TABLES}",
            f"{count} of {len(found)}{more}" if found else "",
            count >= limit if complete else None,
        )
        for what, limit, count, more in (
            (whats[0], 20, better + equal, ""),
            (whats[1], 16, better, f" (smaller mean error on {lower})"),
        )
    ]


def _best_rank(results: Results) -> Goal:
    ranks, tables = results.mean_ranks()
    seen = ", ".join(f"{n} {r:.2f}" for n, r in sorted(ranks.items(), key=lambda item: item[1]))
    met = None
    if "auto" in ranks and len(ranks) == len(RANKED):
        met = ranks["auto"] == min(ranks.values())
    return Goal(
        f"mean rank of auto among {', '.join(RANKED)}",
        "the best",
        f"{seen} ({tables} tables)" if ranks else "",
        met,
    )


def _california(full: Results) -> Goal:
    difference = full.against_trees("california", "auto")
    what = "california, all 15,480 training rows: RMSE over that of the better tree"
    if difference is None:
        return Goal(what, "≤ 1.0")
    ratio = 1 + difference.mean / difference.reference
    return Goal(what, "≤ 1.0", f"{ratio:.4f}", ratio <= 1.0)


def _in_every_tenth(results: Results, table: str) -> Goal:
    what = f"{table}: share of 90 % intervals that contain the target, by tenths of their width"
    limit = "0.86 to 0.94"
    values = results.values(table, "auto", "coverage_by_width")
    if not values:
        return Goal(what, limit)
    shares = np.mean([*values.values()], axis=0)
    met = bool(shares.min() >= 0.86 and shares.max() <= 0.94)
    return Goal(what, limit, f"{shares.min():.3f} to {shares.max():.3f}", met)


def _error_at_most(results: Results, table: str, limit: float) -> Goal:
    mean = results.mean(table, "auto")
    what = f"{table}: error of auto"
    if mean is None:
        return Goal(what, f"≤ {limit:g}")
    return Goal(what, f"≤ {limit:g}", f"{mean:.4g}", mean <= limit)


def _intervals(results: Results) -> Goal:
    what, limit = "share of 90 % intervals that contain the target, every table", "87 to 93 %"
    means = {t: m for t in results.tables if (m := results.mean(t, "auto", "coverage")) is not None}
    if not means:
        return Goal(what, limit)
    outside = [name for name, mean in means.items() if not 0.87 <= mean <= 0.93]
    low, high = 100 * min(means.values()), 100 * max(means.values())
    more = f"; outside: {', '.join(outside)}" if outside else ""
    return Goal(what, limit, f"{low:.1f} to {high:.1f} % of {len(means)} tables{more}", not outside)


def _log_loss(results: Results) -> Goal:
    what = "log loss of auto no worse than by CalibratedClassifierCV"
    pairs = ((t, results.paired(t, "auto", "auto_calibrated", "log_loss")) for t in results.tables)
    found = {table: difference for table, difference in pairs if difference is not None}
    if not found:
        return Goal(what, "every table")
    worse = [table for table, difference in found.items() if difference.verdict == "worse"]
    more = f"; worse: {', '.join(worse)}" if worse else ""
    return Goal(what, "every table", f"{len(found) - len(worse)} of {len(found)}{more}", not worse)


def _honest(results: Results) -> Goal:
    """Compare what folds promise with what the test rows say; see the notes of the report."""
    what = f"mean square error by folds less that of test rows, tables above {MANY:,} rows"
    limit = "within two standard errors"
    apart: dict[str, float] = {}
    for table in results.tables:
        record = results.any_record(table)
        promised = results.values(table, "auto", "square_by_folds")
        few = record["available"] + record["test_rows"] <= MANY
        if few or not promised or table in IN_TIME_ORDER:
            continue
        keys = ("square", "square_noise", "square_by_folds_noise")
        square, *noises = (results.values(table, "auto", key) for key in keys)
        difference = np.mean([promised[seed] - square[seed] for seed in promised])
        noise = np.mean([np.hypot(*(own[seed] for own in noises)) for seed in promised])
        apart[table] = float(difference / noise)
    if not apart:
        return Goal(what, limit)
    outside = [f"{table} {ratio:+.1f}" for table, ratio in apart.items() if abs(ratio) > 2]
    seen = f"{min(apart.values()):+.1f} to {max(apart.values()):+.1f} of {len(apart)} tables"
    more = f"; outside: {', '.join(outside)}" if outside else ""
    return Goal(what, limit, seen + more, not outside)


def _row(results: Results, table: str) -> tuple[str, ...]:
    record = results.any_record(table)
    counts = {len(results.values(table, name)) for name in results.contestants(table)}
    difference = results.against_trees(table, "auto")
    form = ".3f" if record["regression"] else ".2f"
    losses = [results.mean(table, name, "log_loss") for name in ("auto", "auto_calibrated")]
    coverage = results.mean(table, "auto", "coverage")
    return (
        table,
        "RMSE/sd" if record["regression"] else "% wrong",
        f"{record['rows']:,}",
        " or ".join(str(count) for count in sorted(counts)),
        *(_cell([*results.values(table, name).values()], form) for name in SHOWN),
        "–" if difference is None else _signed(difference, form),
        "–" if None in losses else "{:.4f} / {:.4f}".format(*losses),
        "–" if coverage is None else f"{100 * coverage:.1f} %",
    )


def _cell(errors: Sequence[float], form: str) -> str:
    if not errors:
        return "–"
    noise = _standard_error(np.array(errors))
    return f"{np.mean(errors):{form}}" + ("" if np.isnan(noise) else f" ± {noise:{form}}")


def _signed(difference: Difference, form: str) -> str:
    noise = "" if np.isnan(difference.noise) else f" ± {difference.noise:{form}}"
    return f"{difference.mean:+{form}}{noise}: {difference.verdict}"


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


def _counts(results: Results) -> str:
    """Return how each contestant stands against the better tree, and their mean ranks."""
    ranks, tables = results.mean_ranks()
    lines = [
        (
            "contestant",
            "tables",
            "no worse",
            "better",
            "equal",
            "worse",
            "smaller mean",
            "mean rank",
        )
    ]
    for name in SHOWN:
        found = [d for t in results.tables if (d := results.against_trees(t, name)) is not None]
        if not found:
            continue
        verdicts = [difference.verdict for difference in found]
        better, equal, worse = map(verdicts.count, ("better", "equal", "worse"))
        lower = sum(difference.smaller for difference in found)
        cells = (len(found), better + equal, better, equal, worse, lower)
        rank = f"{ranks[name]:.2f}" if name in ranks else "–"
        lines.append((name, *map(str, cells), rank))
    title = f"## Against the better tree\n\nMean ranks are over {tables} tables, those with all of"
    return f"{title} {', '.join(ranks)}.\n\n{_markdown(lines)}\n"


def _goals(records: Sequence[Record]) -> str:
    lines = [("goal", "to reach", "seen", "reached")]
    lines += [goal.cells for goal in goals(records)]
    title = f"## Goals\n\nAt most {ROWS:,} training rows, except where it is said."
    return f"{title}\n\n{_markdown(lines)}\n"


def _conditions(records: Sequence[Record]) -> str:
    """Say with which versions the store was filled; these are not those of the report."""
    seen: dict[str, set[str]] = defaultdict(set)
    for record in records:
        seen["Python"].add(record["python"])
        for package, version in record["versions"].items():
            seen[package].add(version)
    versions = ", ".join(f"{name} {' and '.join(sorted(own))}" for name, own in seen.items())
    dates = sorted(record["date"][:10] for record in records)
    return f"Measured from {dates[0]} to {dates[-1]} with {versions}."


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    lines = [lines[0], ("---",) * len(lines[0]), *lines[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _figure(results: Results) -> Any:
    """Return errors over that of the better tree; None where there is nothing to compare with."""
    import matplotlib.pyplot as plt  # a machine that only measures need not have it

    ratios: dict[str, dict[str, tuple[float, float]]] = {}
    for table in results.tables:
        found = {name: results.against_trees(table, name) for name in SHOWN}
        own = {
            name: ((d.mean + d.reference) / d.reference, d.noise / d.reference)
            for name, d in found.items()
            if d is not None and d.reference > 0
        }
        if own:
            ratios[table] = own
    if not ratios:
        return None
    leader = "auto" if any("auto" in own for own in ratios.values()) else "gauss"
    order = sorted(ratios, key=lambda table: -ratios[table].get(leader, (np.inf, 0.0))[0])
    figure, ax = plt.subplots(figsize=(8, 1.6 + 0.3 * len(order)), layout="constrained")
    ax.axvspan(0, 1, color="0.95", zorder=0)
    ax.axvline(1, color="0.4", linewidth=1)
    for name in SHOWN:
        points = [
            (i, *ratios[table][name]) for i, table in enumerate(order) if name in ratios[table]
        ]
        if points:
            _points(ax, name, np.array(points))
    ax.set_yticks(range(len(order)), order)
    ax.grid(axis="y", color="0.9")
    ax.set(xlim=(0, None), ylim=(-0.7, len(order) - 0.3))
    ax.set_xlabel(
        "error over that of the better of trees and trees_early (left of the line: smaller)"
    )
    ax.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    return figure


def _points(ax: Any, name: str, points: np.ndarray) -> None:
    """Draw one contestant: rows of the line of the table, the ratio and its standard error."""
    color, marker = STYLES[name]
    height, ratio, noise = points.T
    tree = name in RIVALS  # one of them is the line, without a standard error
    ax.errorbar(
        ratio,
        height,
        xerr=None if tree else np.nan_to_num(noise),
        fmt=marker,
        color=color,
        markersize=7 if name == "auto" else 5,
        elinewidth=0.8,
        label=name,
        zorder=4 if name == "auto" else 3,
    )
