"""What squareone does, in one minute: choose σ and λ, and know the error before any test row.

Run it with ``make demo``. It uses data that comes with scikit-learn, prints what it measures on
this machine, and draws ``out/demo.png``.
"""

import importlib
import inspect
import tempfile
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a file, no window
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes, load_digits, make_friedman1
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler

from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian
from squareone.report import IntervalDisplay, LeverageDisplay, path_figure, summary
from squareone.rows import open_rows

FIGURE = Path("out") / "demo.png"
LOO_COLOUR, TEST_COLOUR, CHOSEN_COLOUR = "#0072B2", "#D55E00", "#E69F00"


def best_time(function, repeats=3):
    """Result of a function and the least seconds of a few calls."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


def root_mean_square(errors):
    return float(np.sqrt(np.mean(errors**2)))


def at_each(model, alphas, X, y):
    """The chosen kernel with each λ by itself, to compare the path with rows nobody trained on."""
    same = clone(model).set_params(kernel=model.kernel_, scoring=None)
    return [clone(same).set_params(alpha=float(a)).fit(X, y) for a in alphas]


def regression(ax):
    X, y = load_diabetes(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
    alphas = np.geomspace(1e-3, 1e2, 50)

    print("1. Regression: diabetes progression, a Gaussian kernel, its width σ and one of 50 λ\n")
    model, ours = best_time(lambda: RLSRegressor(alpha=alphas, random_state=0).fit(X, y))
    print(summary(model), "\n")

    # The same λ, and nine widths. KernelRidge has no intercept: the targets are centred for it.
    ridge = KernelRidge(kernel="rbf")
    centred = TransformedTargetRegressor(ridge, transformer=StandardScaler(with_std=False))
    widths = np.geomspace(0.02, 5.0, 9)
    grid = {"regressor__alpha": alphas, "regressor__gamma": 0.5 / widths**2}
    search = GridSearchCV(centred, grid, cv=5, scoring="neg_mean_squared_error")
    searched, theirs = best_time(lambda: search.fit(X, y), repeats=1)
    best = searched.best_params_

    looked_at = np.unique(model.path_["sigma"]).size
    print(f"{'':<34}{'systems':>8}{'seconds':>10}{'σ':>8}{'λ':>8}{'test RMSE':>12}")
    for name, systems, seconds, sigma, alpha, fitted in (
        ("RLSRegressor, leave-one-out", looked_at, ours, model.kernel_.sigma, model.alpha_, model),
        (
            "GridSearchCV(KernelRidge), 5-fold",
            5 * widths.size * alphas.size + 1,
            theirs,
            (0.5 / best["regressor__gamma"]) ** 0.5,
            best["regressor__alpha"],
            searched,
        ),
    ):
        error = root_mean_square(y_test - fitted.predict(X_test))
        print(f"{name:<34}{systems:>8,}{seconds:>10.3f}{sigma:>8.2g}{alpha:>8.2g}{error:>12.1f}")
    print("\nSystems: matrices that were factored. One gives all λ and all the errors of leaving")
    print(f"a row out. On this machine, just now: {theirs / ours:.0f} times the speed.\n")

    path_figure(model, ax)
    fits = at_each(model, alphas, X, y)
    squares = np.array([(y_test - fit.predict(X_test)) ** 2 for fit in fits])
    error = np.sqrt(squares.mean(axis=1))
    spread = squares.std(axis=1) / np.sqrt(y_test.size) / (2 * error)  # of the root, not the square
    with_band(ax, alphas, error, spread, f"{y_test.size} test rows ± 1 standard error")
    ax.lines[0].set_label(f"leave-one-out, {y.size} training rows")
    ax.set_ylabel("diabetes: root mean square error")
    ax.legend(loc="upper center", framealpha=0.85, edgecolor="none")


def classification(ax):
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    alphas = np.geomspace(1e-4, 1e2, 25)

    print("2. Classification: ten handwritten digits, σ and λ chosen by leave-one-out accuracy\n")
    model = RLSClassifier(alpha=alphas, scoring="accuracy", random_state=0).fit(X, y)
    print(summary(model, y), "\n")
    print("What a fit cost was known beforehand, for every solver that could have done it:\n")
    print(model.plan_, "\n")

    loo = 100 * (1 - model.path_["score"][-alphas.size :])  # after the looks for the width
    test = np.array([100 * (1 - fit.score(X_test, y_test)) for fit in at_each(model, alphas, X, y)])
    best = int(np.flatnonzero(alphas == model.alpha_)[0])
    print("Is leave-one-out honest? Wrong answers in %, on rows each fit has not seen:\n")
    print(f"{'λ':>10}{'leave-one-out':>16}{'test':>8}")
    for i in sorted({*range(0, alphas.size, 6), best}):
        mark = "  <- chosen" if i == best else ""
        print(f"{alphas[i]:>10.2g}{loo[i]:>16.2f}{test[i]:>8.2f}{mark}")

    ax.plot(
        alphas,
        loo,
        "o-",
        color=LOO_COLOUR,
        markersize=4.5,
        label=f"leave-one-out, {y.size} training rows",
    )
    spread = np.sqrt(test * (100 - test) / y_test.size)  # of a share, in %
    with_band(ax, alphas, test, spread, f"{y_test.size} test rows ± 1 standard error")
    ax.axvline(model.alpha_, color="0.4", linestyle=":", linewidth=1.2, zorder=1)
    ax.plot(
        model.alpha_,
        loo[best],
        "D",
        color=CHOSEN_COLOUR,
        markeredgecolor="black",
        markersize=9,
        zorder=4,
        label=f"chosen λ = {model.alpha_:.3g}",
    )
    ax.set(xscale="log", xlabel="λ", ylabel="digits: wrong answers, %")
    ax.grid(alpha=0.25)
    ax.legend(loc="upper left", framealpha=0.85, edgecolor="none")


def what_it_knows(left, right):
    print("\n3. What a fit knows about itself, without another one\n")
    X, y = load_diabetes(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
    model = RLSRegressor(random_state=0).fit(X, y)
    shown = IntervalDisplay.from_estimator(model, X_test, y_test, coverage=0.9, ax=left)
    left.set_ylabel("diabetes progression")
    inside = shown.covered()
    print(f"{'90 % intervals, test targets inside':<44}{100 * inside.mean():>8.1f} %")

    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    rng = np.random.default_rng(0)
    flipped = rng.choice(y.size, y.size // 50, replace=False)
    wrong = y.copy()
    wrong[flipped] = (y[flipped] + rng.integers(1, 10, flipped.size)) % 10
    model = RLSClassifier(random_state=0).fit(X, wrong)
    LeverageDisplay.from_estimator(model, ax=right)
    right.set_title(f"digits, {flipped.size} labels of {y.size} made wrong", fontsize="medium")
    found = np.isin(flipped, model.suspicious_rows(2 * flipped.size)).mean()
    print(f"{'wrong labels in the first 4 % of suspects':<44}{100 * found:>8.1f} %")
    loss = log_loss(y_test, model.predict_proba(X_test))
    expected = log_loss(wrong, model.loo_probabilities_)
    print(f"{'log loss, left out (labels partly wrong)':<44}{expected:>8.3f}")
    print(f"{'log loss, test rows (labels right)':<44}{loss:>8.3f}")


def text():
    print(
        "\n4. Sparse text: which part of scikit-learn is a paragraph of its documentation about?\n"
    )
    documents, parts = [], []
    for part in ("cluster", "datasets", "decomposition", "ensemble", "linear_model", "metrics"):
        module = importlib.import_module(f"sklearn.{part}")
        for name in sorted(module.__all__):
            paragraphs = (inspect.getdoc(getattr(module, name)) or "").split("\n\n")
            documents += [text for text in paragraphs if len(text.split()) > 14]
            parts += [part] * (len(documents) - len(parts))
    parts = np.array(parts)
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    X = vectorizer.fit_transform(documents)
    model, seconds = best_time(lambda: RLSClassifier("linear").fit(X, parts))
    left_out = model.classes_[model.loo_predictions_.argmax(axis=1)]
    print(f"{X.shape[0]:,} paragraphs, {X.shape[1]:,} words; λ = {model.alpha_:.2g} chosen in")
    print(f"{seconds:.2f} s by {model.n_iter_} iterations; {np.mean(left_out == parts):.1%} right")
    print("when left out. The words that speak most for each part:\n")
    words = vectorizer.get_feature_names_out()
    for part, weights in zip(model.classes_, model.coef_, strict=True):
        print(f"  {part:<15}{', '.join(words[np.argsort(-weights)[:6]])}")


def many_rows(left, right):
    n = 50_000
    print(
        f"\n5. Many rows: {n:,} of them in a file, a few as centers, and predictions into a file\n"
    )
    X, y = make_friedman1(n + 5_000, noise=1.0, random_state=0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "train.npy", X[:n])
        np.save(folder / "new.npy", X[n:])
        rows = open_rows(folder / "train.npy")  # mapped into memory, read block by block
        counts, fits, seconds = [60, 125, 250, 500], [], []
        for m in counts:
            model = RLSRegressor(Gaussian(4.0), centers=m, random_state=0)
            start = time.perf_counter()
            fits.append(model.fit(rows, y[:n]))
            seconds.append(time.perf_counter() - start)
        fits[-1].predict_file(folder / "new.npy", folder / "predictions.npy")
        predictions = np.load(folder / "predictions.npy")
    print(summary(fits[-1]), "\n")
    left_out = [(-fit.best_score_) ** 0.5 for fit in fits]
    test = [root_mean_square(y[n:] - fit.predict(X[n:])) for fit in fits]
    print(f"{'centers':>8}{'seconds':>10}{'explained':>12}{'left out':>10}{'new rows':>10}")
    for m, fit, took, own, new in zip(counts, fits, seconds, left_out, test, strict=True):
        print(f"{m:>8}{took:>10.2f}{fit.explained_trace_:>12.6f}{own:>10.3f}{new:>10.3f}")
    print(
        f"\nAll rows as centers would be a matrix of {8 * n * n / 2**30:.0f} GiB. The noise is 1."
    )

    left.plot(counts, left_out, "o-", color=LOO_COLOUR, label=f"leave-one-out, {n:,} training rows")
    left.plot(counts, test, "--", color=TEST_COLOUR, label=f"{y.size - n:,} new rows")
    left.axhline(1.0, color="0.4", linestyle=":", linewidth=1.2, label="noise")
    left.set(xscale="log", xlabel="centers", ylabel="Friedman's function: root mean square error")
    left.set_xticks(counts, labels=[str(m) for m in counts])
    left.minorticks_off()
    left.grid(alpha=0.25)
    left.legend(framealpha=0.85, edgecolor="none")

    shown = right.hexbin(y[n:], predictions, gridsize=45, mincnt=1, bins="log", cmap="viridis")
    ends = [y[n:].min(), y[n:].max()]
    right.plot(ends, ends, color="0.3", linestyle=":", linewidth=1.2)
    right.set(xlabel="target of a new row", ylabel=f"prediction, {counts[-1]} centers")
    right.figure.colorbar(shown, ax=right, label="rows")


def with_band(ax, alphas, values, spread, label):
    ax.plot(alphas, values, "--", color=TEST_COLOUR, linewidth=1.6, label=label)
    ax.fill_between(
        alphas, values - spread, values + spread, color=TEST_COLOUR, alpha=0.15, linewidth=0
    )


def main():
    figure = plt.figure(figsize=(12, 14.4), layout="constrained")
    above, below, last = figure.subfigures(3, 1)
    left, right = above.subplots(1, 2)
    regression(left)
    classification(right)
    above.suptitle(
        "At the width that was found: the exact leave-one-out error of every λ, from one "
        "factorisation, and the test error"
    )
    what_it_knows(*below.subplots(1, 2))
    below.suptitle(
        "What the fit knows about itself: how far off it may be, and which rows are wrong"
    )
    text()
    many_rows(*last.subplots(1, 2))
    last.suptitle(
        "50,000 rows from a file: the error falls with the number of centers, and is known"
    )
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=150)
    print(f"\nThe figure is in {FIGURE}.")


if __name__ == "__main__":
    main()
