"""Names that go away: one warning, in the same words everywhere."""

import warnings


def warn_deprecated(old: str, instead: str, *, gone_in: str, stacklevel: int = 2) -> None:
    """Warn that a name still works, what to write in its place, and when it will be gone.

    Parameters
    ----------
    old : str
        What was used, as the user wrote it: ``"RLSRegressor(ridge=...)"``.
    instead : str
        What does the same from now on.
    gone_in : str
        The first version without it.
    stacklevel : int, default=2
        Frames up to the line that is to be changed, counted from the caller of this function.

    Warns
    -----
    FutureWarning
        Which Python shows to everyone, and not to developers only.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     warn_deprecated("Gaussian(width=...)", "Gaussian(sigma=...)", gone_in="0.4")
    >>> print(seen[0].message)
    Gaussian(width=...) is deprecated and will be gone in 0.4: write Gaussian(sigma=...)
    """
    message = f"{old} is deprecated and will be gone in {gone_in}: write {instead}"
    warnings.warn(message, FutureWarning, stacklevel=stacklevel + 1)
