"""Targets: what is predicted, as columns of numbers, and back again."""

from .codes import BCH, Coding, OneVsAll, OneVsOne
from .labels import Code, Labels, check_label_types
from .regression import Responses

#: Codings by name.
CODINGS = {"one_vs_all": OneVsAll, "one_vs_one": OneVsOne, "bch": BCH}

__all__ = [
    "BCH",
    "CODINGS",
    "Code",
    "Coding",
    "Labels",
    "OneVsAll",
    "OneVsOne",
    "Responses",
    "check_label_types",
]
