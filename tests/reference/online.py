r"""Learning from a stream, from its definitions: everything is solved again in every round.

In round t = 1, 2, ... a row x comes, and the rows learned so far, the columns of S, with their
labels :math:`\pm 1` give

.. math::
    A = a I + S S^T, \qquad w = A^{-1} S y, \qquad p = w^T x, \qquad r = x^T A^{-1} x .

The row itself is **not** in A: the margin with it is :math:`p / (1 + r)`. A learner says of which
rows it wants the label, and which of these rows it learns. A margin of zero is a mistake, whatever
the label. A row of zeros is never asked about: nothing can be learned from it. The formulas are
those of Cesa-Bianchi, Conconi & Gentile (2004, 2005), and Cesa-Bianchi, Gentile & Zaniboni (2006).

Shapes: ``n`` rounds, ``d`` features, ``m`` rows learned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.reference.brute_force import FloatArray, IndexArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Round:
    """What is known in round ``number`` = 1, 2, ... before its label; ``asked`` labels so far."""

    number: int
    margin: float
    spread: float
    asked: FloatArray

    def threshold(self, k: float, count: int) -> float:
        r"""Return :math:`\sqrt{k \ln t / N}`, without limit before the first label."""
        return math.sqrt(k * math.log(self.number) / count) if self.asked.size else math.inf


@dataclass(frozen=True)
class Run:
    """What happened in the rounds, and the hypotheses (n + 1, d): ``hypotheses[t]`` after t."""

    y: FloatArray
    margins: FloatArray
    spreads: FloatArray
    asked: BoolArray
    learned: BoolArray
    hypotheses: FloatArray

    @property
    def mistakes(self) -> BoolArray:
        """Say in which rounds the margin had not the sign of the label, asked for or not; (n,)."""
        return self.y * self.margins <= 0


def solution(S: FloatArray, y: FloatArray, a: float) -> tuple[FloatArray, FloatArray]:
    """Return w (d,) and A (d, d) after the rows of ``S`` (m, d) have been learned."""
    A = a * np.eye(S.shape[1]) + S.T @ S
    return np.linalg.solve(A, S.T @ y), A


def stream(
    X: FloatArray,
    y: FloatArray,
    a: float,
    asks: Callable[[Round], bool],
    learns: Callable[[float], bool],
) -> Run:
    """Let a learner ask for the labels it wants, and learn by y·p which of these rows it wants."""
    n, d = X.shape
    asked, learned = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    margins, spreads, hypotheses = np.zeros(n), np.zeros(n), np.zeros((n + 1, d))
    for i in range(n):
        w, A = solution(X[learned], y[learned], a)
        margins[i], spreads[i] = w @ X[i], X[i] @ np.linalg.solve(A, X[i])
        now = Round(i + 1, float(margins[i]), float(spreads[i]), y[:i][asked[:i]])
        asked[i] = X[i].any() and asks(now)
        learned[i] = asked[i] and learns(float(y[i] * margins[i]))
        hypotheses[i + 1] = solution(X[learned], y[learned], a)[0]
    return Run(y, margins, spreads, asked, learned, hypotheses)


def when_wrong(margin: float) -> bool:
    """Learn mistakes only."""
    return margin <= 0


def always(_: object) -> bool:
    """Ask for every label; learn every row."""
    return True


# ---------------------------------------------------------------------------------------------
# The second-order perceptron, and incremental RLS
# ---------------------------------------------------------------------------------------------


def second_order_perceptron(X: FloatArray, y: FloatArray, a: float) -> Run:
    """Ask for every label and learn the mistakes."""
    return stream(X, y, a, always, when_wrong)


def second_order_perceptron_dual(
    K: FloatArray, y: FloatArray, a: float
) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
    """Return margins (n,), spreads (n,), and coefficients (n,) after 0, 1, ..., n rounds.

    With a kernel matrix K (n, n) for the products of the rows. The value of a hypothesis at some
    point is that of its coefficients times the kernel of all rows with that point.
    """
    n = K.shape[0]
    margins, spreads = np.zeros(n), np.zeros(n)
    coefficients = [np.zeros(n)]
    mistaken: list[int] = []
    for i in range(n):
        G = a * np.eye(len(mistaken)) + K[np.ix_(mistaken, mistaken)]
        k = K[mistaken, i]
        margins[i] = coefficients[-1] @ K[:, i]
        spreads[i] = (K[i, i] - k @ np.linalg.solve(G, k)) / a
        if y[i] * margins[i] <= 0:
            mistaken.append(i)
        c = np.zeros(n)
        c[mistaken] = np.linalg.solve(
            a * np.eye(len(mistaken)) + K[np.ix_(mistaken, mistaken)], y[mistaken]
        )
        coefficients.append(c)
    return margins, spreads, coefficients


def incremental_rls(
    X: FloatArray, Y: FloatArray, a: float, forgetting: float = 1.0, *, penalty_fades: bool = False
) -> tuple[FloatArray, FloatArray]:
    r"""Return the solutions (n + 1, d, t) after each round and the prequential residuals (n, t).

    After T rounds with targets Y (n, t) of any kind each column of W minimises

    .. math:: \sum_{s \le T} \varphi^{T - s} (y_s - w^T x_s)^2 + a \|w\|^2 ,

    or, where the penalty fades like a row from before the first, with
    :math:`\varphi^T a \|w\|^2`. A residual is that of a row under the solution before it.
    """
    n, d = X.shape
    solutions = np.zeros((n + 1, d, Y.shape[1]))
    for T in range(1, n + 1):
        weights = forgetting ** np.arange(T - 1, -1, -1.0)
        penalty = a * forgetting**T if penalty_fades else a
        A = penalty * np.eye(d) + X[:T].T @ (weights[:, None] * X[:T])
        solutions[T] = np.linalg.solve(A, X[:T].T @ (weights[:, None] * Y[:T]))
    residuals = np.array([Y[i] - X[i] @ solutions[i] for i in range(n)])
    return solutions, residuals


# ---------------------------------------------------------------------------------------------
# Asking for few labels
# ---------------------------------------------------------------------------------------------


def asking_probability(p: float, r: float, b: float) -> float:
    """Return the probability of the randomised rule, in the paper's form: x is in its margin."""
    with_x = p / (1 + r)
    return b / (b + abs(with_x) + with_x**2 * (1 + r) / 2)


def randomised_sampling(X: FloatArray, y: FloatArray, a: float, b: float, draws: FloatArray) -> Run:
    """Ask where a uniform draw (n,) is below the probability; learn what was asked and wrong."""

    def asks(now: Round) -> bool:
        return draws[now.number - 1] < asking_probability(now.margin, now.spread, b)

    return stream(X, y, a, asks, when_wrong)


def of_length_one(X: FloatArray) -> FloatArray:
    """Return the rows divided by their lengths; a row of zeros stays one."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1.0)


def deterministic_sampling(
    X: FloatArray, y: FloatArray, a: float, k: float = 4.0, *, count_positives: bool = False
) -> Run:
    r"""Ask where :math:`|p| \le \sqrt{k \ln t / N}`, and for the first label; learn all asked.

    N are the labels asked so far, or the positive ones among them and one more. Rows are divided by
    their lengths first.
    """

    def asks(now: Round) -> bool:
        count = 1 + np.count_nonzero(now.asked > 0) if count_positives else now.asked.size
        return abs(now.margin) <= now.threshold(k, count)

    return stream(of_length_one(X), y, a, asks, always)


def filtering(X: FloatArray, y: FloatArray, a: float, k: float = 4.0) -> Run:
    r"""Accept where :math:`p + \sqrt{k \ln t / N} \ge 0`, and the first row; learn all accepted.

    ``asked`` are the accepted rows: their labels are seen. N is their number so far.
    """

    def accepts(now: Round) -> bool:
        return now.margin + now.threshold(k, now.asked.size) >= 0

    return stream(of_length_one(X), y, a, accepts, always)


# ---------------------------------------------------------------------------------------------
# From a run to a classifier, and bounds
# ---------------------------------------------------------------------------------------------


def penalised_errors(
    X: FloatArray, y: FloatArray, hypotheses: FloatArray, delta: float
) -> FloatArray:
    r"""Return for hypotheses 0, ..., n - 1 the error on all rounds after it and its penalty; (n,).

    .. math:: \mathrm{err}_t + \sqrt{\frac{\ln (n (n + 1) / \delta)}{2 (n - t)}}

    The hypothesis to choose has the smallest.
    """
    n = X.shape[0]
    found = np.zeros(n)
    for t in range(n):
        error = np.mean(y[t:] * (X[t:] @ hypotheses[t]) <= 0)
        found[t] = error + math.sqrt(math.log(n * (n + 1) / delta) / (2 * (n - t)))
    return found


def typical_risk_bound(mistakes: int, n: int, delta: float) -> float:
    """Bound the mean of the risks of hypotheses 0, ..., n - 1 with probability 1 - δ."""
    return mistakes / n + math.sqrt(2 / n * math.log(1 / delta))


def chosen_risk_bound(mistakes: int, n: int, delta: float) -> float:
    """Bound the risk of the hypothesis of the smallest penalised error with probability 1 - δ."""
    return mistakes / n + 5 * math.sqrt(1 / n * math.log(2 * (n + 1) / delta))


@dataclass(frozen=True)
class Terms:
    r"""What the bounds are made of, for some u and :math:`\gamma`.

    ``hinge`` :math:`\sum_t (\gamma - y_t u^T x_t)_+`, ``norm`` :math:`a \|u\|^2`, ``along``
    :math:`u^T S S^T u`, and ``log_determinant`` :math:`\sum_i \ln (1 + \lambda_i / a)` with the
    eigenvalues of :math:`S S^T`; S holds the rows learned.
    """

    hinge: float
    norm: float
    along: float
    log_determinant: float


def terms(
    X: FloatArray, y: FloatArray, learned: BoolArray, u: FloatArray, gamma: float, a: float
) -> Terms:
    """Return the terms of a run in which these rows were learned."""
    S = X[learned]
    eigenvalues = np.maximum(np.linalg.eigvalsh(S.T @ S), 0.0)
    return Terms(
        float(np.sum(np.maximum(gamma - y * (X @ u), 0.0))),
        float(a * u @ u),
        float(np.sum((S @ u) ** 2)),
        float(np.sum(np.log(1 + eigenvalues / a))),
    )


def mistake_bound(found: Terms, gamma: float) -> float:
    """Bound the mistakes of the second-order perceptron on the rows of these terms."""
    return (found.hinge + math.sqrt((found.norm + found.along) * found.log_determinant)) / gamma


def expected_mistake_bound(found: Sequence[Terms], gamma: float, b: float) -> float:
    """Bound the expected mistakes of the randomised sampler; the terms are those of many runs.

    All rounds count as mistakes, asked or not. Expectations are means over the runs.
    """
    along = np.mean([each.along for each in found])
    log_determinant = np.mean([each.log_determinant for each in found])
    hinge, norm = found[0].hinge, found[0].norm  # the same in all runs
    return float(hinge / gamma + b / (2 * gamma**2) * (norm + along) + log_determinant / (2 * b))


# ---------------------------------------------------------------------------------------------
# Hierarchies: ``parents`` (c,) has the number of each node's parent, or -1. Labels Y (n, c) are
# True where a row belongs to a node, and then it belongs to the parent.
# ---------------------------------------------------------------------------------------------


def ancestors(parents: IndexArray, node: int) -> list[int]:
    """Return the parent, its parent, and so on."""
    above = []
    while parents[node] >= 0:
        node = int(parents[node])
        above.append(node)
    return above


def hierarchical_rls(
    X: FloatArray, Y: BoolArray, parents: IndexArray, a: float
) -> tuple[FloatArray, BoolArray]:
    """Return the margins (n, c) and the predictions (n, c) of each row before it is learned.

    A node learns rows whose parent is truly positive. It is predicted where its margin and those of
    all nodes above it are positive.
    """
    margins = np.zeros(Y.shape)
    for i in range(X.shape[0]):
        for node in range(Y.shape[1]):
            learned = np.all(Y[:i, ancestors(parents, node)], axis=1)
            signs = np.where(Y[:i, node], 1.0, -1.0)
            margins[i, node] = solution(X[:i][learned], signs[learned], a)[0] @ X[i]
    predicted = np.zeros(Y.shape, dtype=bool)
    for node in range(Y.shape[1]):
        predicted[:, node] = np.all(margins[:, [node, *ancestors(parents, node)]] > 0, axis=1)
    return margins, predicted


def hierarchical_losses(
    true: BoolArray, predicted: BoolArray, parents: IndexArray
) -> dict[str, FloatArray]:
    """Return for each row (n,) the H-loss, the zero-one loss and the symmetric difference.

    The H-loss counts the wrong nodes above which no node is wrong.
    """
    wrong = true != predicted
    first = np.zeros(wrong.shape, dtype=bool)
    for node in range(wrong.shape[1]):
        first[:, node] = wrong[:, node] & ~np.any(wrong[:, ancestors(parents, node)], axis=1)
    return {
        "h": np.sum(first, axis=1).astype(np.float64),
        "zero-one": np.any(wrong, axis=1).astype(np.float64),
        "symmetric difference": np.sum(wrong, axis=1).astype(np.float64),
    }
