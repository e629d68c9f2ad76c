"""Support vector machines as a quadratic program, by a plain interior-point method.

    minimise ½ xᵀQx − eᵀx    subject to    0 ≤ x ≤ C,  and, with an intercept, yᵀx = 0

with Q = diag(y) K diag(y), and λ/w added to the diagonal for the squared hinge loss, for which C is
infinite. Every step solves the whole system with numpy.linalg.solve.
"""

import numpy as np


def solve_box_qp(Q, upper, signs=None, steps=200):
    """x, and the multiplier of yᵀx = 0 (the intercept); ``signs`` None for no intercept."""
    n = Q.shape[0]
    bounded = np.isfinite(upper)
    size = np.where(bounded, upper, 1.0 / np.diag(Q).max())
    x = 0.5 * size
    z = np.ones(n)  # of x ≥ 0
    s = np.where(bounded, upper - x, 1.0)  # C − x
    v = np.where(bounded, 1.0, 0.0)
    b = 0.0
    y = np.zeros(n) if signs is None else signs
    k = n + bounded.sum()
    for _ in range(steps):
        dual = Q @ x - 1.0 + b * y - z + v
        rest = 0.0 if signs is None else float(y @ x)
        mu = (x @ z + np.where(bounded, s * v, 0.0).sum()) / k
        done = np.abs(dual).max() < 1e-13 and abs(rest) < 1e-13 * size.max()
        if done and mu < 1e-16 * size.max():
            break
        target = 0.1 * mu
        D = z / x + np.where(bounded, v / s, 0.0)
        right = -dual + (target - x * z) / x - np.where(bounded, (target - s * v) / s, 0.0)
        H = np.zeros((n + 1, n + 1))
        H[:n, :n] = Q + np.diag(D)
        H[:n, n] = H[n, :n] = y
        if signs is None:
            H[n, n] = 1.0
        step = np.linalg.solve(H, np.append(right, -rest))
        dx, db = step[:n], step[n]
        dz = (target - x * z - z * dx) / x
        ds = -dx
        dv = np.where(bounded, (target - s * v - v * ds) / s, 0.0)
        share = 1.0
        for value, change in (
            (x, dx),
            (z, dz),
            (s[bounded], ds[bounded]),
            (v[bounded], dv[bounded]),
        ):
            falls = change < 0
            if falls.any():
                share = min(share, 0.995 * float((-value[falls] / change[falls]).min()))
        x, z, b = x + share * dx, z + share * dz, b + share * db
        s, v = np.where(bounded, s + share * ds, s), v + share * dv
    return x, -b if signs is None else b


def fit(K, y, alpha, *, squared=False, weights=None, intercept=False):
    """Coefficients β (n,) of f = Σ βⱼ k(xⱼ, ·) + b, and b, for signs ``y`` and the total-loss λ.

    Rows of weight zero are left out. Without a margin row b is the middle of what is optimal.
    """
    w = np.ones(len(y)) if weights is None else np.asarray(weights, float)
    kept = np.flatnonzero(w > 0)
    K, y, w = K[np.ix_(kept, kept)], y[kept], w[kept]
    Q = y[:, None] * K * y
    if squared:
        Q = Q + np.diag(alpha / w)
        upper = np.full(len(y), np.inf)
    else:
        upper = w / (2.0 * alpha)
    x, b = solve_box_qp(Q, upper, y if intercept else None)
    beta = np.zeros(len(w) if weights is None else len(weights))
    beta[kept] = y * x
    return beta, b if intercept else 0.0


def objective(K, y, beta, b, alpha, *, squared=False, weights=None):
    """Σ wℓ(yf) + λ‖f‖²."""
    w = np.ones(len(y)) if weights is None else weights
    slack = np.maximum(1.0 - y * (K @ beta + b), 0.0)
    return float(w @ (slack**2 if squared else slack) + alpha * beta @ K @ beta)


def leave_one_out(K, y, alpha, *, squared=False, weights=None, intercept=False):
    """Values (n,) at each row of the machine that has not seen it, by n refits."""
    n = len(y)
    values = np.empty(n)
    for i in range(n):
        w = np.ones(n) if weights is None else np.asarray(weights, float).copy()
        w[i] = 0.0
        beta, b = fit(K, y, alpha, squared=squared, weights=w, intercept=intercept)
        values[i] = K[i] @ beta + b
    return values
