"""Matrices of torch: what is done with them is what is done with NumPy's; who asks is answered."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone import RLSClassifier, RLSRegressor, arrays, decompositions, load
from squareone.devices import HOST, open_place, place_or_host
from squareone.devices.place import known_place
from squareone.errors import (
    DeviceNotFoundError,
    MemoryLimitError,
    NotPositiveSemidefiniteError,
    SingularSystemError,
)
from squareone.kernels import (
    Constant,
    Cosine,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
)
from squareone.kernels.tiles import kernel_matrix, kernel_product, kernel_rectangle

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch")

rng = np.random.default_rng(0)
N = 1100  # more than two panels


@pytest.fixture(scope="module")
def place(request):
    return open_place(request.config.getoption("--device") or "torch:cpu")[0]


def positive(n, dtype=np.float64):
    A = rng.standard_normal((n, n))
    return (A @ A.T / n + np.eye(n)).astype(dtype)


# --- the algebra --------------------------------------------------------------------------------


def inverted(A):
    arrays.cholesky(A)
    arrays.triangular_inverse(A)


def like(A, values):
    """Values where the matrix is."""
    return values.copy() if isinstance(A, np.ndarray) else torch.from_numpy(values).to(A.device)


B = rng.standard_normal((N, 3))
ROWS = rng.standard_normal((40, N))
TRIANGLE = np.linalg.cholesky(positive(N))
LEADING = np.ascontiguousarray(TRIANGLE[:600, :600])
WORK = {
    "cholesky": arrays.cholesky,
    "triangular_inverse": inverted,
    "scale_symmetric": lambda A: arrays.scale_symmetric(A, 2.0, B[:, 0]),
    "add_symmetric_outer": lambda A: arrays.add_symmetric_outer(A, B[:, 0], B[:, 1]),
    "copy_triangle up": lambda A: arrays.copy_triangle(A, to_upper=True),
    "copy_triangle down": lambda A: arrays.copy_triangle(A, to_upper=False),
    "set_diagonal": lambda A: arrays.set_diagonal(A, B[:, 0]),
    "set_diagonal to one": lambda A: arrays.set_diagonal(A, 1.0),
    "clear_upper": arrays.clear_upper,
    "add_gram": lambda A: arrays.add_gram(A, like(A, ROWS)),
    "divide_by_cholesky": lambda A: arrays.divide_by_cholesky(A, like(A, TRIANGLE)),
    "divide_right": lambda A: arrays.divide_right(A[:7], like(A, TRIANGLE)),
    "divide_right in pieces": lambda A: arrays.divide_right(A[:7, 5:605], like(A, LEADING)),
}
# Of these, tiles on the diagonal are changed as a whole, and a GPU has larger ones.
BY_TILES = ("scale_symmetric", "add_symmetric_outer", "add_gram", "divide_by_cholesky")


def with_other_corner(A):
    """The matrix with something else above its diagonal, which is nobody's business."""
    return np.tril(A) + np.triu(np.full(A.shape, 7.0), 1)


@pytest.mark.parametrize("name", WORK)
def test_triangles_are_changed_as_numpys_are(place, name):
    A = with_other_corner(positive(N))
    there = place.taken(A.copy())
    WORK[name](A)
    WORK[name](there)
    found = place.fetched(there)
    if name in BY_TILES:
        found, A = np.tril(found), np.tril(A)
    assert_allclose(found, A, atol=1e-12)


def after(work, ask):
    def both(A):
        work(A)
        return ask(A)

    return both


def lower(A):
    return np.tril(A) if isinstance(A, np.ndarray) else A.tril()


FOLD = np.array([3, 600, 601, N - 1])
ANSWERS = {
    "cholesky_solve": after(arrays.cholesky, lambda A: arrays.cholesky_solve(A, B)),
    "inverse_product": after(inverted, lambda A: arrays.inverse_product(A, B)),
    "triangular_product": lambda A: arrays.triangular_product(A, B),
    "symmetric_product": lambda A: arrays.symmetric_product(A, B[:, 0]),
    "frobenius_norm": arrays.frobenius_norm,
    "column_square_sums": arrays.column_square_sums,
    "diagonal": arrays.diagonal,
    "gram_of_columns": lambda A: arrays.gram_of_columns(A, FOLD),
    "reciprocal_condition": after(
        arrays.cholesky, lambda A: arrays.reciprocal_condition(A, float(N))
    ),
    "times": lambda A: arrays.times(A, B),
    "by_rows": lambda A: arrays.by_rows(A, B),
    "transposed_times": lambda A: arrays.transposed_times(A, B),
    "squares_times": lambda A: arrays.squares_times(A, B),
    "weighted_product": lambda A: arrays.weighted_product(A[:4], B[:, 0], A[:5]),
    "solve_positive": lambda A: arrays.solve_positive(A, B),
    "transposed_copy": arrays.transposed_copy,
    "solve_triangular": after(arrays.cholesky, lambda A: arrays.solve_triangular(A, B)),
    "solve_transposed": after(arrays.cholesky, lambda A: arrays.solve_transposed(A, B)),
    "row_square_sums": arrays.row_square_sums,
    "lower_copy": lambda A: lower(arrays.lower_copy(A, np.dtype(np.float32))),
    "in_precision": lambda A: arrays.in_precision(A, np.dtype(np.float32)),
    "lower_less_outer": lambda A: lower(
        arrays.lower_less_outer(A, B[:, 0], B[:, 1], np.dtype(np.float64))
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_those_of_numpy(place, name):
    A = with_other_corner(positive(N))
    there = place.taken(A.copy())
    found, expected = ANSWERS[name](there), ANSWERS[name](A)
    if not isinstance(found, np.ndarray | float):
        found = place.fetched(found)
    rtol = 0.3 if name == "reciprocal_condition" else 1e-11  # both are estimates of it
    assert_allclose(found, expected, rtol=rtol, atol=1e-11)


@pytest.mark.usefixtures("place")
def test_every_dispatched_function_is_tried():
    dispatched = {
        name
        for module in (arrays, decompositions)
        for name, value in vars(module).items()
        if hasattr(value, "registry")
    }
    tried = {name.split()[0] for name in (*WORK, *ANSWERS)}
    assert dispatched == tried | {"eigh", "subtract_outer", "pivoted_cholesky"}
    for module in (arrays, decompositions):
        for name in dispatched & set(vars(module)):
            assert torch.Tensor in getattr(module, name).registry, name


def test_what_is_in_no_table(place):
    S = positive(5)
    there = place.taken(S.copy())
    arrays.subtract_outer(there, np.arange(5.0), 0.5)
    outer = np.outer(np.arange(5.0), np.arange(5.0))
    assert_allclose(place.fetched(there), S - 0.5 * outer, atol=1e-14)
    S = positive(300)
    values, vectors = decompositions.eigh(place.taken(np.tril(S)))
    V = place.fetched(vectors)
    assert_allclose((V * values) @ V.T, S, atol=1e-12)


@pytest.mark.parametrize("rank", [0, 40, 300])
def test_pivots_stop_where_nothing_is_left(place, rank):
    F = rng.standard_normal((300, rank)) * np.logspace(0, -3, rank)
    S = F @ F.T
    found, order = arrays.pivoted_cholesky(there := place.taken(S.copy()))
    assert found == arrays.pivoted_cholesky(S.copy())[0] == rank
    assert_array_equal(np.sort(order), np.arange(300))
    L = np.tril(place.fetched(there))[:, :rank]
    assert_allclose(L @ L.T, S[np.ix_(order, order)], atol=1e-12)


def test_singular_matrices_are_refused(place):
    A = np.eye(1100)
    A[700, 700] = -1.0
    with pytest.raises(SingularSystemError, match="order 701"):
        arrays.cholesky(place.taken(A))
    A[700, 700] = 0.0
    with pytest.raises(SingularSystemError, match="position 701"):
        arrays.triangular_inverse(place.taken(A))


# --- kernels ------------------------------------------------------------------------------------

KERNELS = [
    Linear(),
    Cosine(),
    Polynomial(3, 0.2, 1.0),
    Gaussian(2.0),
    Gaussian(np.arange(1.0, 6.0)),
    Gaussian(0.1),
    Laplacian(3.0),
    *(Matern(1.0, nu) for nu in (0.5, 1.5, 2.5)),
    0.5 * Gaussian(1.0) + Linear() * Constant(2.0),
    Gaussian(1.0, metric=rng.standard_normal((5, 2))),
    Laplacian(2.0, metric=np.arange(1.0, 6.0)),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernel_values_are_those_of_numpy(place, kernel, dtype):
    X = (rng.standard_normal((1100, 5)) + 2.0).astype(dtype)
    Y = (rng.standard_normal((600, 5)) + 2.0).astype(dtype)
    C = rng.standard_normal((600, 3)).astype(dtype)

    def all_of_it():
        K = kernel_matrix(kernel, X, both_triangles=False)
        return K, kernel_rectangle(kernel, X, Y), kernel_product(kernel, X, Y, C)

    with place.active():
        found = all_of_it()
    expected = all_of_it()
    reach = 5.0 if "sigma=0.1" not in str(kernel) else 500.0  # squares of distances over widths
    everything = (place.fetched(found[0]), *found[1:])
    for there, here in zip(everything, expected, strict=True):
        if here.shape[0] == here.shape[1]:
            there, here = np.tril(there), np.tril(here)
        tolerance = 30.0 * reach * np.finfo(dtype).eps * np.abs(here).max()
        assert_allclose(there, here, atol=tolerance)
    assert isinstance(found[1], np.ndarray)
    assert found[2].dtype == dtype


def test_a_kernel_for_numpy_alone_is_refused():
    class Own(Gaussian):
        fills_anywhere = False

    assert not Kernel.fills_anywhere
    X = rng.standard_normal((20, 2))
    for kernel in (Own(1.0), Own(1.0) + Linear()):
        with pytest.raises(TypeError, match=r"fills_anywhere.*device=None"):
            RLSRegressor(kernel, device="torch:cpu").fit(X, X[:, 0])


# --- choosing -----------------------------------------------------------------------------------


def test_names_of_devices():
    assert open_place(None) == open_place("cpu") == (HOST, "")
    for wrong in ("gpu", "cuda:", "cuda:-1", "cuda:x", "CUDA", "", "mps"):
        with pytest.raises(ValueError, match=r'"cuda:1" or another number, "auto"'):
            open_place(wrong)
    with pytest.raises(ValueError, match="device"):
        RLSRegressor(device=1).fit([[0.0], [1.0]], [0.0, 1.0])
    assert known_place("cuda:7")
    assert not known_place("tpu")


@pytest.fixture
def _no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.usefixtures("_no_gpu")
def test_without_a_gpu():
    X = rng.standard_normal((30, 2))
    with pytest.raises(DeviceNotFoundError, match=r"PyTorch .*finds no GPU"):
        RLSRegressor(device="cuda").fit(X, X[:, 0])
    plan = RLSRegressor(device="auto").fit(X, X[:, 0]).plan_
    assert 'device="auto" took the CPU' in plan.reason
    assert plan.task.device == ""
    assert place_or_host("cuda:0") is HOST


def test_a_gpu_that_is_not_among_those_there_are(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(DeviceNotFoundError, match="there are 2 GPUs"):
        open_place("cuda:2")


WITHOUT_TORCH = """
import sys
class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError(name)
sys.meta_path.insert(0, Nowhere())
"""


def test_without_torch():
    code = WITHOUT_TORCH + (
        "import numpy as np\n"
        "from squareone import RLSRegressor\n"
        "X = np.arange(6.0)[:, None]\n"
        "try:\n"
        "    RLSRegressor(device='cuda').fit(X, X[:, 0])\n"
        "except RuntimeError as error:\n"
        "    assert 'squareone[torch]' in str(error), error\n"
        "    print(RLSRegressor(device='auto').fit(X, X[:, 0]).plan_.reason)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "PyTorch is not installed" in run.stdout


# --- estimators ---------------------------------------------------------------------------------


BY_CHOLESKY = {"solver": "cholesky", "alpha": [0.1, 1.0, 3.0], "kernel": Gaussian(1.0)}


def data(n=300, dtype=np.float64):
    """Of a function that has a width: one that is a polynomial nearly would have any."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 2)).astype(dtype)
    return X, np.sin(3.0 * X[:, 0]) + np.sin(2.0 * X[:, 1]) + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("settings", [{}, BY_CHOLESKY, {"kernel": "laplacian"}], ids=str)
def test_a_fit_is_that_of_numpy(place, settings):
    X, y = data()
    here = RLSRegressor(**settings).fit(X[:200], y[:200])
    there = RLSRegressor(**settings, device=place.name).fit(X[:200], y[:200])
    assert_allclose(there.alpha_, here.alpha_, rtol=1e-6)
    assert_allclose(there.loo_predictions_, here.loo_predictions_, atol=1e-8)
    for ask in (
        lambda m: m.predict(X[200:]),
        lambda m: m.predict(X[200:], return_std=True)[1],
        lambda m: m.predict_interval(X[200:]),
        lambda m: m.influence(X[200:205]),
    ):
        assert_allclose(ask(there), ask(here), atol=1e-7)
    assert isinstance(there.dual_coef_, np.ndarray)
    assert place.name in repr(there.plan_)


def test_a_search_over_more_rows(place):
    """By Cholesky factorisations of more rows, many of them in single precision."""
    X, y = data(1500)
    here, there = (RLSRegressor(device=device).fit(X, y) for device in (None, place.name))
    assert_allclose(there.best_score_, here.best_score_, rtol=1e-3)
    # near its minimum the score is flat, and rounding moves the width: the score has to be its own
    same = RLSRegressor(there.kernel_, alpha=there.alpha_).fit(X, y)
    assert_allclose(there.loo_predictions_, same.loo_predictions_, atol=1e-6)


def test_precomputed_kernels(place):
    X, y = data(100)
    K = Gaussian(1.0)(X)
    here, there = (
        RLSRegressor("precomputed", device=device).fit(K, y) for device in (None, place.name)
    )
    assert_allclose(there.predict(K), here.predict(K), atol=1e-9)
    with pytest.raises(NotPositiveSemidefiniteError):
        RLSRegressor("precomputed", alpha=1.0, device=place.name).fit(K - 2.0 * np.eye(100), y)


def test_features_stay_in_the_machines_memory(place):
    X, y = data()
    here, there = (RLSRegressor("linear", device=d).fit(X, y) for d in (None, place.name))
    assert_array_equal(there.coef_, here.coef_)


def test_files_and_pickles_hold_numpy(place, tmp_path):
    X, y = data()
    model = RLSClassifier(device=place.name).fit(X, y > 0)
    expected = model.predict_proba(X)
    model.save(tmp_path / "model.safetensors")
    path = tmp_path / "model.pickle"
    path.write_bytes(pickle.dumps(model))
    for same in (load(tmp_path / "model.safetensors"), pickle.loads(path.read_bytes())):
        assert_allclose(same.predict_proba(X), expected, atol=1e-12)
        assert_allclose(same.influence(X[:2]), model.influence(X[:2]), atol=1e-9)
    code = WITHOUT_TORCH + (
        "import pickle, squareone, numpy as np\n"
        f"X = np.array({X[:3].tolist()})\n"
        f"a = squareone.load({str(tmp_path / 'model.safetensors')!r})\n"
        f"b = pickle.load(open({str(path)!r}, 'rb'))\n"
        "assert (a.predict_proba(X) == b.predict_proba(X)).all()\n"
        "print(a.predict_proba(X)[:, 0].tolist(), a.influence(X).shape)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert_allclose(eval(run.stdout.split("]")[0] + "]"), expected[:3, 0], atol=1e-9)


def test_what_does_not_fit_is_refused_before(place):
    X, y = data(2000)
    # what else is said depends on how fast the machine is, by which the solver is chosen
    with pytest.raises(MemoryLimitError, match=r"limit is 30 MiB.*at most about [\d,]+ rows"):
        RLSRegressor(device=place.name, memory_limit="30MiB").fit(X, y)


def test_memory_that_runs_out_is_given_back(place, monkeypatch):
    X, y = data(200)

    def full(*shape, **more):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 4 TiB. And so on")

    with monkeypatch.context() as patched:
        patched.setattr(torch, "empty", full)
        model = RLSRegressor(device=place.name)
        with pytest.raises(MemoryLimitError, match=r"Use float32 rows, centers"):
            model.fit(X, y)
    assert not hasattr(model, "plan_")
    assert model.fit(X, y).score(X, y) > 0.5


def test_products_are_in_full_precision(place):
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        with place.active(), place.active():
            assert torch.get_float32_matmul_precision() == "highest"
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def test_sparse_rows_are_refused(place):
    from scipy.sparse import csr_array

    X, y = data()
    with pytest.raises(TypeError, match=r"sparse matrix.*toarray"):
        RLSRegressor(device=place.name).fit(csr_array(X), y)
