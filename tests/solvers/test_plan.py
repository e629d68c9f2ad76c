"""The plan: what is chosen and why, from shapes alone."""

import pickle
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from squareone import RLSClassifier, RLSRegressor
from squareone.errors import IllConditionedWarning, MemoryLimitError
from squareone.kernels import Gaussian
from squareone.planning import Task, make_plan, plan
from squareone.planning.available_memory import free_memory, memory_limit, readable
from squareone.planning.machine_speed import KINDS, Machine, Rate
from squareone.report import summary
from squareone.solvers import cost_counts as costs
from squareone.solvers.contract import STAGES
from squareone.solvers.exact.cholesky import SEARCH_STEPS, subset_size

GIB = 2.0**30


def task(
    n, d=10, t=1, *, linear=False, given=False, alphas="auto", smooth=True, itemsize=8, **more
):
    return Task(n, d, t, itemsize, linear, given, alphas, smooth, **more)


def machine(speed):
    """One that does a billion of everything in a second, times ``speed``."""
    return Machine({f"{kind}-{bits}": Rate(1e9 * speed) for kind in KINDS for bits in (32, 64)})


class Asked:
    """Stands for the machine's speed, and counts how often somebody wants to know it."""

    def __init__(self):
        self.times = 0

    def __call__(self):
        self.times += 1
        return machine(1.0)


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    """No test here measures the machine, or touches the user's cache."""
    asked = Asked()
    monkeypatch.setattr(plan, "this_machine", asked)
    return asked


@pytest.mark.parametrize(
    ("wanted", "solver"),
    [
        (task(500), "spectral"),  # the whole path costs nothing worth saving
        (task(5000), "cholesky"),  # a search costs less
        (task(5000, smooth=False), "spectral"),  # but follows smooth criteria only
        (task(5000, alphas=1), "cholesky"),
        (task(5000, alphas=50), "spectral"),
        (task(5000, alphas=3), "cholesky"),
        (task(100, alphas=1), "cholesky"),
        (task(1000, linear=True), "svd"),  # the most accurate while it is cheap
        (task(1_000_000, linear=True), "gram"),
        (task(1_000_000, linear=True, alphas=50), "gram"),
        (task(200, d=100_000, linear=True), "gram"),
        (task(3000, d=100_000, linear=True, alphas=1), "cholesky"),
    ],
)
def test_choice(wanted, solver):
    assert make_plan(wanted, "auto", 100 * GIB).solver == solver


def test_memory_decides_where_it_must():
    assert make_plan(task(20_000, smooth=False), "auto", 20 * GIB).solver == "spectral"
    assert make_plan(task(20_000, alphas=50), "auto", 5 * GIB).solver == "cholesky"
    with pytest.raises(
        MemoryLimitError, match=r"needs 8.95 GiB; .* What fits: solver=\"cholesky\""
    ):
        make_plan(task(20_000, alphas=50), "spectral", 5 * GIB)
    with pytest.raises(MemoryLimitError, match=r"What fits: at most about 1[23],... rows"):
        make_plan(task(40_000, alphas=1), "auto", 1.3 * GIB)


def test_the_rows_that_are_said_to_fit_do():
    with pytest.raises(MemoryLimitError, match="at most about") as refusal:
        make_plan(task(40_000, alphas=1), "auto", 1.3 * GIB)
    rows = int(str(refusal.value).split("at most about ")[1].split(" rows")[0].replace(",", ""))
    make_plan(task(rows, alphas=1), "auto", 1.3 * GIB)


def test_single_precision_is_named_where_it_would_fit():
    with pytest.raises(MemoryLimitError, match=r"float32 rows; at most about 1[23],... rows"):
        make_plan(task(15_000, alphas=1), "auto", 1.3 * GIB)
    with pytest.raises(MemoryLimitError, match="What fits: nothing of use with this solver, or"):
        make_plan(task(15_000, alphas=1), "auto", 500.0)


def test_a_refusal_says_first_what_automatic_centers_take():
    """As many as they would be, in the seconds that a plan with them expects; then the most."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30_000, 3)), rng.standard_normal(30_000)
    with pytest.raises(MemoryLimitError) as refusal:
        RLSRegressor(memory_limit="2GiB").fit(X, y)
    automatic = RLSRegressor(memory_limit="2GiB", centers="auto").plan(X, y)
    first, rest = str(refusal.value).split(" What fits: ")
    assert first.endswith(
        f'Try centers="auto" first: an approximation with {automatic.task.centers:,} centers, in '
        f"about {plan.duration(automatic.expected())}."
    )
    most = int(re.search(r"centers=([\d_]+)", rest).group(1))
    assert most > automatic.task.centers
    largest = RLSRegressor(memory_limit="2GiB", centers=most, solver="rectangle").plan(X, y)
    assert f"as many points, about {plan.duration(largest.expected())})" in rest


@pytest.mark.parametrize(
    ("solver", "advice"),
    [
        ("auto", 'Try centers="auto" first: '),
        ("cholesky", 'Try centers="auto" with solver="auto" first: '),
        ("pcg", 'Try centers="auto" first: '),
    ],
)
def test_a_refusal_of_a_solver_by_name(solver, advice):
    with pytest.raises(MemoryLimitError) as refusal:
        make_plan(task(300_000, alphas=1), solver, 8 * GIB)
    assert advice in str(refusal.value)


@pytest.mark.parametrize("kind", ["linear", "given"])
def test_no_centers_where_there_can_be_none(kind):
    with pytest.raises(MemoryLimitError) as refusal:
        make_plan(task(300_000, d=300_000, alphas=1, **{kind: True}), "auto", 8 * GIB)
    assert "centers" not in str(refusal.value)


def test_no_automatic_centers_where_not_even_they_fit():
    with pytest.raises(MemoryLimitError) as refusal:
        make_plan(task(40_000, alphas=1), "auto", 1e6)
    assert "Try" not in str(refusal.value)


def test_a_plan_of_more_than_a_minute_says_what_centers_would_take(monkeypatch):
    made = make_plan(task(30_000), "auto", 100 * GIB)
    for speed, said in ((1.0, True), (1e6, False)):
        monkeypatch.setattr(plan, "this_machine", lambda speed=speed: machine(speed))
        lines = [line for line in str(made).splitlines() if line.startswith("faster: ")]
        assert len(lines) == said
        assert ("faster: centers=&quot;auto&quot;" in made._repr_html_()) == said
        if said:
            m = int(re.search(r"with ([\d,]+) centers", lines[0]).group(1).replace(",", ""))
            fewer = make_plan(replace(made.task, centers=m, sampled=5000), "auto", 100 * GIB)
            assert lines[0].endswith(f"in about {plan.duration(fewer.expected())}")
            assert fewer.expected() < 0.5 * made.expected()


def test_fewer_centers_are_faster_than_many():
    of = task(300_000, sampled=5000)
    many = make_plan(replace(of, centers=20_000), "auto", 100 * GIB)
    assert 'faster: centers="auto"' in str(many)
    m = plan.choose_centers(task(300_000), 100 * GIB, None)
    assert "faster" not in str(make_plan(replace(of, centers=m), "auto", 100 * GIB))


@pytest.mark.parametrize(
    ("n", "centers", "shown"), [(500, 0, False), (500, 50, True), (60_000, 0, True)]
)
def test_what_was_not_tried_is_said_where_time_is_spent(n, centers, shown):
    made = replace(make_plan(task(n, centers=centers), "auto", 100 * GIB), untried=("Linear()",))
    assert ("not tried: Linear()" in str(made).splitlines()) == shown
    assert ("<div>not tried: Linear()</div>" in made._repr_html_()) == shown
    assert "not tried" not in str(replace(made, untried=()))


def test_eigenproblems_beyond_lapack_are_not_planned():
    assert make_plan(task(40_000, alphas=50), "auto", 1000 * GIB).solver == "cholesky"
    with pytest.raises(ValueError, match="LAPACK stops at 32,766 rows"):
        make_plan(task(40_000, alphas=50), "spectral", 1000 * GIB)


def test_a_plan_can_be_read():
    text = str(make_plan(task(5000, t=3), "auto", 8 * GIB))
    assert "5,000 rows, 10 features, kernel, 3 target columns, float64" in text
    assert "cholesky" in text
    assert "<- chosen" in text
    assert "why: the fewest flops" in text
    assert "a precomputed kernel" in str(make_plan(task(50, given=True), "auto", 8 * GIB))


def test_the_table_has_a_column_for_each_figure():
    made = make_plan(task(5000), "auto", 8 * GIB)
    _, header, *rows = str(made).splitlines()
    assert header.split() == ["solver", "Gflop", "memory", "expected", "how"]
    for row in rows[: len(made.candidates)]:
        assert row[: header.index("expected") + len("expected")].endswith((" s", " min"))
        assert row[header.index("how") - 1] == " "


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (0.00123, "0.0012 s"),
        (1.26, "1.3 s"),
        (99.4, "99 s"),
        (100.0, "1.7 min"),
        (3600.0, "60 min"),
        (6000.0, "1.7 h"),
        (1e5, "28 h"),
        (3e5, "3.5 d"),
        (1e9, "11,574 d"),
    ],
)
def test_durations_can_be_read(seconds, text):
    assert plan.duration(seconds) == text


def _some_tasks():
    for linear, n, d in [(False, 700, 5), (False, 7001, 30), (True, 900, 40), (True, 60, 500)]:
        for alphas in ("auto", 1, 7):
            for itemsize in (4, 8):
                for width in (False, True):
                    yield task(
                        n,
                        d,
                        3,
                        linear=linear,
                        alphas=alphas,
                        itemsize=itemsize,
                        fold_work=1e4,
                        largest_fold=50,
                        width_search=width,
                    )


@pytest.mark.parametrize("wanted", list(_some_tasks()))
def test_the_work_adds_up_to_the_flops(wanted):
    for candidate in make_plan(wanted, "auto", 1000 * GIB).candidates:
        assert candidate.flops == sum(w.flops for w in candidate.work) > 0
        for w in candidate.work:
            assert w.kind in KINDS
            assert w.bits in (32, 64)
            assert w.amount >= 0
            assert w.flops == 0 or w.kind not in ("evaluation", "errors", "pass", "call")


def _flops(wanted):
    return {c.solver: c.flops for c in make_plan(wanted, "auto", 1000 * GIB).candidates}


def test_the_flops_are_those_of_the_guide():
    n, d, t = 3000, 20, 2
    path = 2 * n * n * (t + 1)
    assert _flops(task(n, d, t, alphas=1))["cholesky"] == pytest.approx(n**3 / 3 + n * n * d)
    several = _flops(task(n, d, t, alphas=5))
    step = 2 / 3 * n**3 + 2 * n * n * t
    assert several["cholesky"] == pytest.approx(5 * step + n * n * d)
    assert several["spectral"] == pytest.approx(9 * n**3 + n * n * d + 5 * path)
    linear = _flops(task(n, d, t, alphas=5, linear=True))
    assert linear["svd"] == pytest.approx(6 * n * d**2 + 20 * d**3 + 5 * 2 * n * d * (t + 1))
    assert linear["gram"] == pytest.approx(3 * n * d**2 + 9 * d**3 + 5 * 2 * n * d * (t + 1))


def test_steps_of_a_search_in_single_precision_count_half():
    single, double = SEARCH_STEPS
    n, d = 6000, 20
    rest = 2 * n * n * d + 9 * subset_size(n) ** 3
    step = 2 / 3 * n**3 + 2 * n * n
    assert _flops(task(n, d))["cholesky"] == pytest.approx((single / 2 + double) * step + rest)
    in_single = _flops(task(n, d, itemsize=4))["cholesky"]
    assert in_single == pytest.approx((single + double) * step + rest)


@pytest.mark.parametrize("n", [400, 2000, 5000, 8000, 14000])
def test_a_search_for_the_width_costs_what_it_does(n):
    d, t = 20, 2
    m = min(n, costs.WIDTH_ROWS)
    per_look = 9 * m**3 + 2 * m * m * (t + 1) * costs.WIDTH_ALPHAS + m * m * d
    search = costs.WIDTH_EIGENDECOMPOSITIONS * per_look
    sizes = {400: [], 2000: [2000], 5000: [2000], 8000: [2666], 14000: [1555, 4666]}
    search += sum(costs.WIDTH_STEPS * (k**3 / 3 + k * k * (d + t)) for k in sizes[n])
    for alphas in (1, 20):
        without, with_ = (_flops(task(n, d, t, alphas=alphas, width_search=w)) for w in (0, 1))
        for solver in ("cholesky", "spectral"):
            assert with_[solver] - without[solver] == pytest.approx(search)
    # what is left to do for the best λ is one step in double precision
    best = _flops(task(n, d, t, width_search=True))["cholesky"]
    assert best == pytest.approx(search + 2 / 3 * n**3 + n * n * (d + 2 * t))


def test_targets_count_in_every_solver():
    """A thousand targets, each with a λ of its own: a factorisation per λ is no longer cheaper."""
    wanted = task(1000, 100, 1000, alphas=20, smooth=False, per_target=True)
    made = make_plan(wanted, "auto", 100 * GIB)
    assert made.solver == "spectral"
    work = {c.solver: c.flops for c in made.candidates}
    assert work["cholesky"] > 20 * 2 * 2 * 1000**3


def test_a_search_for_the_width_is_named():
    forms = [c.form for c in make_plan(task(3000, width_search=True), "auto", GIB).candidates]
    assert forms == [
        "search for width and λ, a factorisation per step",
        "search for the width, then eigendecomposition, every alpha",
    ]
    (one, _) = make_plan(task(3000, alphas=1, width_search=True), "auto", GIB).candidates
    assert one.form == "search for the width, then one Cholesky factorisation"


@pytest.mark.parametrize("more", [{"linear": True}, {"given": True}])
def test_only_kernels_have_a_width(more):
    wanted = task(3000, **more)
    assert _flops(replace(wanted, width_search=True)) == _flops(wanted)


def test_a_search_for_the_width_needs_room_for_its_eigenvectors():
    wanted = task(1000, itemsize=4, alphas=1)
    least, most = (
        make_plan(replace(wanted, width_search=w), "cholesky", GIB).chosen.bytes for w in (0, 1)
    )
    assert most > 8 * 3 * 1000**2 > least


def test_what_every_solver_needs_first_does_not_decide():
    # the whole path is still wanted where it costs little beside the search for the width
    assert make_plan(task(900, width_search=True), "auto", 100 * GIB).solver == "spectral"
    assert make_plan(task(5000, width_search=True), "auto", 100 * GIB).solver == "cholesky"


def test_expected_seconds_are_the_work_over_the_rates():
    made = make_plan(task(5000), "auto", 8 * GIB)
    for candidate in made.candidates:
        total = sum(w.amount for w in candidate.work)
        assert made.expected(candidate) == pytest.approx(total / 1e9)
    assert made.expected() == made.expected(made.chosen)


def test_larger_problems_are_expected_to_take_longer():
    rows = (100, 1000, 5000, 20_000)
    for alphas in ("auto", 1, 50):
        for itemsize in (4, 8):
            seconds = [
                make_plan(
                    task(n, alphas=alphas, itemsize=itemsize), "cholesky", 99 * GIB
                ).expected()
                for n in rows
            ]
            assert seconds == sorted(seconds)


def test_one_given_alpha_is_not_charged_for_what_nobody_asked():
    """Leave-one-out values of many rows are computed when they are asked for."""

    def inverse(n):
        work = make_plan(task(n, alphas=1), "cholesky", GIB).chosen.work
        return sum(w.amount for w in work if w.kind == "inverse")

    assert inverse(1200) > 0 == inverse(1300)
    tall = {n: make_plan(task(n, 100, linear=True, alphas=1), "gram", GIB) for n in (1e5, 4e5)}
    few, many = (made.expected() / n for n, made in tall.items())
    assert few > 2 * many


def test_the_choice_does_not_depend_on_the_machine(monkeypatch):
    def choices():
        return [
            [
                (made.solver, made.reason, [c.flops for c in made.candidates])
                for made in [make_plan(wanted, "auto", 8 * GIB)]
                if str(made)
            ]
            for wanted in _some_tasks()
        ]

    usual = choices()
    uneven = machine(1.0).rates | {"cholesky-32": Rate(1.0), "cholesky-64": Rate(1.0)}
    for other in (machine(1e-6), machine(1e6), Machine(uneven)):
        monkeypatch.setattr(plan, "this_machine", lambda other=other: other)
        assert choices() == usual


def test_nothing_is_measured_before_somebody_wants_to_see_it(asked):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 3)), rng.standard_normal(80)
    model = RLSRegressor()
    before = model.plan(X, y)
    after = model.fit(X, y).plan_
    _ = after.chosen, after.time_spent(), after.candidates[0].flops, summary(model)
    pickle.loads(pickle.dumps(after))
    assert before == before
    assert asked.times == 0
    str(before)
    assert asked.times > 0


def test_plans_can_be_pickled():
    made = make_plan(task(5000), "auto", 8 * GIB)
    made.stages["path"] = 1.5
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert str(again) == str(made)


def test_plan_before_and_after_a_fit():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 3)), rng.standard_normal(80)
    model = RLSRegressor(alpha=1.0)
    before = model.plan(X, y)
    assert not hasattr(model, "n_features_in_")  # planning fits nothing
    assert before.stages == {}
    after = model.fit(X, y).plan_
    assert (before.solver, before.candidates) == (after.solver, after.candidates)
    assert set(after.stages) >= {"kernel matrix", "factorisation", "coefficients"}
    assert "spent" not in str(before)
    seconds = after.expected(), sum(after.stages.values())
    last = re.split(r"\s{2,}", str(after).splitlines()[-1])
    assert last == ["all", *map(plan.duration, seconds)]
    labels = rng.integers(0, 4, 80)
    assert RLSClassifier().plan(X, labels).task.t == 4


# --- the stages ---


@pytest.mark.parametrize("wanted", list(_some_tasks()))
def test_every_piece_of_work_has_its_stage(wanted):
    made = make_plan(wanted, "auto", 1000 * GIB)
    for candidate in made.candidates:
        stages = made.expected_stages(candidate)
        assert list(stages) == [name for name in STAGES if name in stages]
        assert sum(stages.values()) == pytest.approx(made.expected(candidate))
        assert {w.stage for w in candidate.work} <= set(STAGES)
    assert made.expected_stages() == made.expected_stages(made.chosen)


ALPHAS = {"one": 0.5, "grid": [0.1, 1.0, 10.0], "auto": "auto"}


@pytest.mark.parametrize("alphas", ALPHAS)
@pytest.mark.parametrize(
    ("kernel", "solver", "dtype"),
    [
        (Gaussian(), "cholesky", float),
        (Gaussian(2.0), "cholesky", float),
        (Gaussian(2.0), "cholesky", np.float32),
        (Gaussian(2.0), "spectral", float),
        ("linear", "gram", float),
        ("linear", "svd", float),
    ],
)
def test_what_is_expected_is_measured_under_the_same_name(kernel, solver, dtype, alphas):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)).astype(dtype), rng.standard_normal(60).astype(dtype)
    made = RLSRegressor(kernel, ALPHAS[alphas], solver=solver).fit(X, y).plan_
    assert set(made.stages) <= set(STAGES)
    assert set(made.expected_stages()) <= set(made.stages)
    # what nobody expects is too little to count: no factorisation, no path
    assert set(made.stages) - set(made.expected_stages()) <= {
        "coefficients",
        "leave-one-out values",
        *(["factorisation"] if solver == "cholesky" else []),
    }


def test_one_given_alpha_of_many_rows_has_no_stage_for_what_can_wait():
    few, many = (make_plan(task(n, alphas=1), "cholesky", GIB).expected_stages() for n in (9, 2000))
    assert list(few) == [*many, "leave-one-out values"]


def fitted_plan():
    made = make_plan(task(5000), "auto", 8 * GIB)
    made.stages.update({"path": 1.5, "coefficients": 0.25, "a <b> & c": 2.0})
    return made


def test_expected_and_spent_seconds_stand_side_by_side():
    made = fitted_plan()
    lines = str(made).splitlines()
    table = lines[lines.index(f"why: {made.reason}") + 1 :]
    rows = {row[0]: row[1:] for row in (re.split(r"\s{2,}", line) for line in table)}
    expected = made.expected_stages()
    assert rows["stage"] == ["expected", "spent"]
    assert rows["path"] == [plan.duration(expected["path"]), "1.5 s"]
    assert rows["kernel matrix"] == [plan.duration(expected["kernel matrix"]), "–"]
    assert rows["coefficients"] == ["–", "0.25 s"]
    assert rows["all"] == [plan.duration(made.expected()), "3.8 s"]
    assert len({len(line) for line in table}) == 1  # flush at the right


# --- a notebook ---


class Cells(HTMLParser):
    """The text of every cell, and whatever else was met."""

    def __init__(self, html):
        super().__init__()
        self.cells, self.tags, self.open = [], [], []
        self.feed(html)
        assert self.open == []  # everything was closed

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        if tag in ("th", "td"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("th", "td"):
            self.cells[-1] += data


def test_a_notebook_shows_the_same_as_a_terminal():
    made = fitted_plan()
    html = made._repr_html_()
    cells = Cells(html).cells
    for line in str(made).splitlines()[1:]:
        if not line.startswith("why: "):
            for cell in re.split(r"\s{2,}", line):
                assert cell in cells
    assert "why: the fewest flops" in html
    assert "5,000 rows, 10 features" in html


def test_the_html_stands_alone_and_is_escaped():
    html = fitted_plan()._repr_html_()
    assert set(Cells(html).tags) == {"div", "table", "thead", "tbody", "tr", "th", "td"}
    assert "a &lt;b&gt; &amp; c" in html
    assert "&lt;- chosen" in html
    # no fixed colour of text or of paper: it has to be read on white and on black
    assert set(re.findall(r"[\"; ]color:([^;]+);", html)) == {"inherit"}
    assert set(re.findall(r"background:([^;]+);", html)) == {"transparent", "rgba(0,114,178,0.18)"}


def test_nothing_is_measured_before_a_notebook_shows_it(asked):
    made = make_plan(task(5000), "auto", 8 * GIB)
    assert asked.times == 0
    made._repr_html_()
    assert asked.times > 0


def test_tiny_alpha_goes_from_cholesky_to_spectral():
    X = np.repeat(np.random.default_rng(0).standard_normal((20, 2)), 2, axis=0)
    y = np.arange(40.0)
    with pytest.warns(IllConditionedWarning, match="ill-conditioned"):
        model = RLSRegressor(alpha=1e-18).fit(X, y)
    assert model.plan_.solver == "spectral"
    assert "too small for a Cholesky" in model.plan_.reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2GiB", 2 * GIB), ("500MB", 5e8), ("1.5 kib", 1536), ("100", 100), ("3B", 3), (1e6, 1e6)],
)
def test_memory_limits_as_text(text, expected):
    assert memory_limit(text) == expected


@pytest.mark.parametrize("text", ["", "many", "-1GiB", "0", 0, -5, "1PB", True])
def test_memory_limits_that_make_no_sense(text):
    with pytest.raises(ValueError, match="memory_limit="):
        memory_limit(text)


def test_free_memory_is_what_is_free():
    assert 0 < free_memory() < 2.0**50
    assert memory_limit(None) > 0
    assert readable(1.5 * GIB) == "1.5 GiB"
    assert readable(2.0**45) == "32 TiB"


def test_the_panels_of_a_large_cholesky_are_counted():
    small, large = (
        make_plan(task(n, alphas=1), "cholesky", 1000 * GIB).chosen.bytes - 8 * n * n
        for n in (10_000, 10_001)
    )
    assert large - small > 8 * 2048 * 10_000
