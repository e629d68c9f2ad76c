"""save and load: fitted estimators and pipelines in files."""

from __future__ import annotations

import os
import warnings
from typing import Any

import sklearn
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from ..errors import FileFormatError
from . import Fields, Reader, Writer, read, write
from .known_classes import is_estimator, known

#: Changes whenever an older version of this program could not read what is written.
FORMAT = 4

# Letters of a message about a file.
_LONGEST = 500
# What may come of values that do not fit together, wherever it shows.
_CONTRADICTIONS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator, or a pipeline that ends in one, to a file.

    Parameters
    ----------
    estimator : estimator of squareone or Pipeline
        Fitted. The other steps of a pipeline are a ``TableEncoder``, scikit-learn's scalers,
        imputers, encoders, PCA, polynomial features, and a ``ColumnTransformer``, with columns by
        name, number, slice or ``make_column_selector``, or pipelines of these.
    path : str or PathLike
        A safetensors file, such as ``"model.safetensors"``; an older one is replaced once the new
        one is complete.

    See Also
    --------
    load : The way back.
    check_saveable : The same question before the fit.

    Notes
    -----
    The file has numbers and texts only, never code. A parameter or a step that is something else,
    a splitter or a function for instance, is refused; joblib can write those. The factorisation is
    not written: what needs it is computed again from the rows, where the model has them.

    **Cost**: that of writing the centers, the coefficients and a few numbers per row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import squareone
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = squareone.RLSRegressor().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     squareone.save(model, Path(folder) / "diabetes.safetensors")
    ...     same = squareone.load(Path(folder) / "diabetes.safetensors")
    >>> bool((same.predict(X) == model.predict(X)).all())
    True
    """
    save_with_facts(estimator, None, path)


def save_with_facts(
    estimator: Any, facts: dict[str, Any] | None, path: str | os.PathLike[str]
) -> None:
    """Write a fitted estimator, and what else is known of it: numbers, texts, lists and arrays."""
    from ..version import __version__

    check_is_fitted(_last(estimator))
    writer = Writer(known)
    tree = {
        "format": FORMAT,
        "versions": {"squareone": __version__, "scikit-learn": sklearn.__version__},
        "object": writer.encode(estimator, ""),
    }
    if facts is not None:
        tree["facts"] = writer.encode(facts, "facts")
    write(path, tree, writer.tensors)


def check_saveable(estimator: Any) -> None:
    """Refuse what :func:`save` would refuse, before it is fitted, and all of it at once.

    Parameters
    ----------
    estimator : estimator of squareone or Pipeline
        Fitted or not: only its parameters and steps are looked at.

    Raises
    ------
    TypeError
        With every parameter and step that cannot be written.

    See Also
    --------
    save : For what can be written.

    Notes
    -----
    **Cost**: none worth counting.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import SplineTransformer, StandardScaler
    >>> from squareone import RLSRegressor, check_saveable
    >>> check_saveable(make_pipeline(StandardScaler(), RLSRegressor()))
    >>> check_saveable(make_pipeline(SplineTransformer(), RLSRegressor()))
    Traceback (most recent call last):
        ...
    TypeError: save cannot write this: parameters.steps.splinetransformer.1 is SplineTransformer()
    of type SplineTransformer: ...
    """
    _last(estimator)
    refusals: list[str] = []
    Writer(known, refusals).attempt(estimator, "", 0)
    if refusals:
        lines = refusals[0] if len(refusals) == 1 else "".join(f"\n- {text}" for text in refusals)
        msg = f"save cannot write this: {lines}"
        raise TypeError(msg)


def _last(estimator: Any) -> Any:
    """The estimator of this library, alone or at the end of a pipeline."""
    last = estimator
    if type(estimator).__name__ == "Pipeline":
        last = [step for _, step in estimator.steps][-1]
    if is_estimator(last):
        return last
    inside = " Save its best_estimator_" if hasattr(estimator, "best_estimator_") else ""
    msg = (
        "a fitted estimator of squareone, alone or at the end of a Pipeline, can be saved, "
        f"got {type(estimator).__name__}.{inside or ' Use joblib.dump for anything else'}"
    )
    raise TypeError(msg)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted estimator or pipeline from a file.

    Nothing in a file is executed, unpickled or imported. Every number of a model is checked against
    the others, so that a file that is damaged, or made to do harm, is refused, or gives a model
    with other numbers.

    Parameters
    ----------
    path : str or PathLike
        Written by :func:`save`.

    Returns
    -------
    estimator of squareone or Pipeline
        Fitted; its predictions are those before it was saved, bit for bit.

    Raises
    ------
    FileFormatError
        Where the file is anything else, is damaged, or was written by a later version.

    Notes
    -----
    **Cost**: that of reading the file; no more memory is taken than it has bytes, and some for its
    header.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import squareone
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     squareone.RLSClassifier().fit(X, y).save(Path(folder) / "iris.safetensors")
    ...     model = squareone.load(Path(folder) / "iris.safetensors")
    >>> model.predict(X[:1]).item()
    0
    """
    return load_with_facts(path)[0]


def load_with_facts(path: str | os.PathLike[str]) -> tuple[Any, Fields | None]:
    """Read a fitted estimator, and what else the file knows of it, which is still to be checked."""
    try:
        tree, tensors = read(path)
        return _from_file(tree, Reader(known, tensors))
    except FileFormatError as error:
        msg = f"cannot load {os.fspath(path)!r}: {_legible(str(error))}"
        raise FileFormatError(msg) from error


def _legible(text: str) -> str:
    """A message in which a file may be quoted: not endless, and nothing that a terminal obeys."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _from_file(tree: Any, reader: Reader) -> tuple[Any, Fields | None]:
    with Fields(tree, "the header") as header:
        number = header.take("format", int)
        versions = header.take("versions", dict)
        if number != FORMAT:
            from ..version import __version__

            writer = f"squareone {versions.get('squareone')}"
            again = f"fit the model again and save it, or load it with {writer}"
            msg = (
                f"it has format {number}, written by {writer}, and "
                f"squareone {__version__} reads format {FORMAT}: "
                f"{'upgrade squareone' if number > FORMAT else again}"
            )
            raise FileFormatError(msg)
        node = header.take("object", dict)
        more = header.take("facts", dict) if header.has("facts") else None
    try:
        found = reader.decode(node, "")
        facts = None if more is None else Fields(reader.decode(more, "facts"), "facts")
        reader.finish()
        last = _last(found)
        check_is_fitted(last)
    except FileFormatError:
        raise
    except _CONTRADICTIONS as error:
        msg = f"its values do not fit together: {error}"
        raise FileFormatError(msg) from error
    if found is not last:
        _compare_versions(found, versions)
    return found, facts


def _compare_versions(pipeline: Any, versions: dict[str, Any]) -> None:
    """Warn where another version of scikit-learn has fitted what is its own."""
    written = str(versions.get("scikit-learn"))
    if written != sklearn.__version__:
        warnings.warn(
            InconsistentVersionWarning(
                estimator_name=type(pipeline).__name__,
                current_sklearn_version=sklearn.__version__,
                original_sklearn_version=written,
            ),
            stacklevel=3,
        )
