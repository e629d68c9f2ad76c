"""Every error and warning of the library, by name.

An error says what came, what was expected and what to do about it. Each one subclasses the
built-in, NumPy, SciPy or scikit-learn class a caller would already be catching.
"""

from numpy.linalg import LinAlgError
from scipy.linalg import LinAlgWarning

__all__ = [
    "CellError",
    "CheckpointError",
    "DeviceNotFoundError",
    "EmptyColumnWarning",
    "EstimateWarning",
    "ExportError",
    "FileFormatError",
    "IdentifierWarning",
    "IllConditionedWarning",
    "JournalError",
    "MemoryLimitError",
    "NotPositiveSemidefiniteError",
    "RechunkWarning",
    "ReservedRowError",
    "ScaleError",
    "ScaleWarning",
    "SingularSystemError",
    "TableFileError",
    "TargetWarning",
    "UnrecoverableWarning",
    "UnseenValuesWarning",
]


class SingularSystemError(LinAlgError):
    """The linear system has no unique solution in working precision.

    Raised for ``alpha=0`` where the kernel matrix is singular, and by ``solver="cholesky"``
    where ``alpha`` is too small for the factorisation to exist.
    """


class NotPositiveSemidefiniteError(LinAlgError):
    """A precomputed kernel matrix has an eigenvalue that is clearly negative."""


class MemoryLimitError(MemoryError):
    """What was asked for needs more memory than ``memory_limit``; nothing was allocated."""


class ScaleError(ValueError):
    """Values so large or so small that their squares leave the range of the floating type."""


class ExportError(RuntimeError):
    """An exported model would not compute what the estimator computes; nothing was written."""


class FileFormatError(ValueError):
    """A file cannot be loaded: it is no model, is damaged or contradicts itself, or is too new."""


class JournalError(RuntimeError):
    """The file of a labelling session cannot be opened, read or written; the message says why."""


class ReservedRowError(ValueError):
    """A row that is kept for the audit of a labelling session was asked for out of its turn."""


class CellError(ValueError):
    """A value of a column cannot be what the column is.

    Parameters
    ----------
    message : str
    column : str
    row : int
        From 0 on.
    shown : str
        The value.
    expected : str
        What the column has otherwise.
    """

    def __init__(self, message: str, column: str, row: int, shown: str, expected: str) -> None:
        super().__init__(message)
        self.column, self.row, self.shown, self.expected = column, row, shown, expected


class TableFileError(ValueError):
    """A file of a table cannot be used; says where, what is there, and what to do about it.

    Parameters
    ----------
    source : str
        The name of the file.
    problem : str
        What is wrong.
    remedy : str
        What to do about it.
    line : int, optional
        The line of the file, from 1 on.
    row : int, optional
        The row of the table, from 1 on.
    column : str, optional
        The name of the column.
    value : str, optional
        What stands there.
    """

    def __init__(
        self,
        source: str,
        problem: str,
        remedy: str,
        *,
        line: int | None = None,
        row: int | None = None,
        column: str | None = None,
        value: str | None = None,
    ) -> None:
        self.source, self.problem, self.remedy = source, problem, remedy
        self.line, self.row, self.column, self.value = line, row, column, value
        places = [source]
        if line is not None:
            places.append(f"line {line:,}")
        if row is not None:
            places.append(f"row {row:,}")
        if column is not None:
            places.append(f"column {column!r}")
        shown = "" if value is None else f"{value if len(value) <= 60 else value[:60] + '…'!r}: "
        super().__init__(f"{', '.join(places)}: {shown}{problem}. {remedy[:1].upper()}{remedy[1:]}")


class CheckpointError(ValueError):
    """A checkpoint cannot be read, or belongs to another fit."""


class DeviceNotFoundError(RuntimeError):
    """The device that was asked for is not there; the message says what was found."""


class IllConditionedWarning(LinAlgWarning):
    """The answer has fewer reliable digits than a user would expect; the message says how few."""


class EstimateWarning(UserWarning):
    """An estimate by random probes is too noisy to be relied on; the message says what to use."""


class TargetWarning(UserWarning):
    """Classes that look like numbers to be predicted; the message says what to do if they are."""


class ScaleWarning(UserWarning):
    """Features in such different units that a kernel of distances sees only some of them."""


class EmptyColumnWarning(UserWarning):
    """Columns of a table without a value in any row; they are not used."""


class IdentifierWarning(UserWarning):
    """Numbers of a table that look like a running number, and are not called one; not used."""


class RechunkWarning(UserWarning):
    """The columns of a Dask array are in several chunks, and every pass puts them into one."""


class UnrecoverableWarning(UserWarning):
    """Chunks of a Dask collection are held by workers, and nobody can make them again."""


class UnseenValuesWarning(UserWarning):
    """Many rows of a table hold levels, or gaps, that no training row had in that column."""
