"""Names of parameters: one that is not known is refused, with what was probably meant."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Self

from sklearn.base import BaseEstimator

__all__ = ["NamedParameters"]


class NamedParameters(BaseEstimator):
    """A part of estimators and kernels: unknown parameters are refused with advice.

    Python and scikit-learn refuse them, too, but leave it to the reader to find out what is wrong.
    Names are looked at before the constructor sees them: that has no ``**kwargs``, which
    scikit-learn would not allow.
    """

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """A new object, unless a parameter has a name that is not known."""
        known = cls._get_param_names()
        for name, value in parameters.items():
            if name not in known:
                advice = cls._advice(name, value, parameters)
                msg = f"{cls.__name__}() got an unexpected keyword argument {name!r}: {advice}"
                raise TypeError(msg)
        return super().__new__(cls)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__sigma`` reaches into a kernel object.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self
        """
        known = self._get_param_names()
        for name, value in params.items():
            outer = name.partition("__")[0]
            if outer not in known:
                advice = self._advice(outer, value, self.get_params(deep=False) | params)
                msg = f"Invalid parameter {outer!r} for estimator {self}: {advice}"
                raise ValueError(msg)
        return super().set_params(**params)

    @classmethod
    def _advice(cls, name: str, value: Any, others: Mapping[str, Any]) -> str:
        """What to write in place of ``name=value``; ``others`` are all that were given."""
        meant = cls._meant(name, value, others)
        if meant:
            return meant
        known = cls._get_param_names()
        close = get_close_matches(name, known, n=1)
        return f"did you mean {close[0]!r}?" if close else f"valid are {', '.join(known)}"

    @classmethod
    def _meant(cls, name: str, value: Any, others: Mapping[str, Any]) -> str:
        """What a parameter that others have by that name is here; empty where nothing is known."""
        return ""
