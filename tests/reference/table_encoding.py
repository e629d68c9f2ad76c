"""What the encoder of tables makes of a column, one row after the other, from the definitions."""

import datetime
import itertools
import math
import statistics


def is_gap(value):
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def standard(training, new):
    """Mean 0 and standard deviation 1, the median for a gap, and an indicator of gaps."""
    known = [value for value in training if not is_gap(value)]
    mean, sd, median = statistics.fmean(known), statistics.pstdev(known), statistics.median(known)
    gaps = len(known) < len(training)
    rows = []
    for value in new:
        number = median if is_gap(value) else value
        rows.append([(number - mean) / sd] + [float(is_gap(value))] * gaps)
    return rows


def quantile(training, new):
    """Normal scores of the middle of the ranks, linear in between, constant outside."""
    n, normal = len(training), statistics.NormalDist()

    def score(x):
        below = sum(value < x for value in training)
        until = sum(value <= x for value in training)
        return normal.inv_cdf((below + until) / (2 * n))

    rows = []
    for x in new:
        low = max((value for value in training if value <= x), default=min(training))
        high = min((value for value in training if value >= x), default=max(training))
        share = 0.0 if low == high else (x - low) / (high - low)
        rows.append([(1 - share) * score(low) + share * score(high)])
    return rows


def pieces(training, new, most):
    """Shares of intervals between edges, in a unit that makes the sum of their variances one."""
    known = [value for value in training if not is_gap(value)]
    levels = sorted(set(known))
    edges = levels
    if len(levels) > most + 1:
        # rows by value, of which one value may stand for a single piece at most; an edge is the
        # first value whose middle row is not before the one that is wanted
        rows = [min(known.count(level), len(known) / most) for level in levels]
        middles = [sum(rows[:k]) + rows[k] / 2 for k in range(len(levels))]
        way = middles[-1] - middles[0]
        wanted = [middles[0] + t * way / most for t in range(1, most)]
        inner = {next(k for k, middle in enumerate(middles) if middle >= w) for w in wanted}
        edges = [levels[k] for k in sorted({0, len(levels) - 1} | inner)]

    def shares(x):
        pairs = itertools.pairwise(edges)
        return [min(max((x - low) / (high - low), 0.0), 1.0) for low, high in pairs]

    columns = zip(*map(shares, known), strict=True)
    unit = 1 / math.sqrt(sum(statistics.pvariance(column) for column in columns))
    gaps = len(known) < len(training)
    median = statistics.median(known)
    return [
        [unit * share for share in shares(median if is_gap(v) else v)] + [float(is_gap(v))] * gaps
        for v in new
    ]


def booleans(training, new):
    gaps = any(map(is_gap, training))
    return [[0.0 if is_gap(v) else v - 0.5] + [float(is_gap(v))] * gaps for v in new]


def words(training, new, rare):
    """Groups of levels in order, the rare ones and gaps behind them."""
    known = [value for value in training if not is_gap(value)]
    levels = sorted(set(known))
    gaps = len(known) < len(training)
    few = {level for level in levels if known.count(level) < rare}
    if len(levels) + gaps <= 2 or (len(few) == len(levels) and not gaps):
        few = set()
    groups = [level for level in levels if level not in few] + ["*rare"] * bool(few)
    groups += ["*gap"] * gaps
    rows = []
    for value in new:
        group = "*gap" if is_gap(value) else value
        if group in few or (few and group not in levels and group != "*gap"):
            group = "*rare"
        if len(groups) == 2:
            rows.append([0.0 if group not in groups else groups.index(group) - 0.5])
        else:
            rows.append([float(group == each) / math.sqrt(2) for each in groups])
    return rows


def target_means(training, y, new, smoothing):
    """Of a single target; a gap is a level."""
    training = ["*gap" if is_gap(v) else v for v in training]
    overall = statistics.fmean(y)
    values = {}
    for level in set(training):
        there = [target for value, target in zip(training, y, strict=True) if value == level]
        share = len(there) / (len(there) + smoothing)
        values[level] = share * (statistics.fmean(there) - overall)
    scale = math.sqrt(statistics.fmean(values[value] ** 2 for value in training))
    return [[values.get("*gap" if is_gap(v) else v, 0.0) / scale] for v in new]


def dates(training, new):
    """A number, season, time of day and day of the week; all of them vary."""
    epoch = datetime.datetime(1970, 1, 1)
    numbers = standard(
        [(when - epoch).total_seconds() / 86400 for when in training],
        [(when - epoch).total_seconds() / 86400 for when in new],
    )
    days = sorted({when.weekday() for when in training})
    rows = []
    for number, when in zip(numbers, new, strict=True):
        first = datetime.datetime(when.year, 1, 1)
        length = (datetime.datetime(when.year + 1, 1, 1) - first).days
        season = 2 * math.pi * (when.timetuple().tm_yday - 1) / length
        midnight = datetime.datetime(when.year, when.month, when.day)
        hour = 2 * math.pi * (when - midnight).total_seconds() / 86400
        row = [*number]
        for angle in (season, hour):
            row += [0.5 * math.sin(angle), 0.5 * math.cos(angle)]
        rows.append(row + [float(when.weekday() == day) / math.sqrt(2) for day in days])
    return rows
