"""What estimators are: scikit-learn's where it is installed, and the little of it that is needed where it is not."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
    from sklearn.exceptions import NotFittedError
except ImportError:

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters by name, as the signature of ``__init__`` has them."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            names = [name for name in inspect.signature(type(self).__init__).parameters if name != "self"]
            return {name: getattr(self, name) for name in names}

        def set_params(self, **params: Any) -> Self:
            known = self.get_params()
            for name, value in params.items():
                if name not in known:
                    raise ValueError(f"there is no parameter `{name}`; there are {', '.join(known)}")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            usual = inspect.signature(type(self).__init__).parameters
            said = {name: value for name, value in self.get_params().items() if value is not usual[name].default}
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in said.items())})"

        def __getstate__(self) -> dict[str, Any]:
            return self.__dict__

        def __setstate__(self, state: dict[str, Any]) -> None:
            self.__dict__.update(state)

    class ClassifierMixin:  # type: ignore[no-redef]
        pass

    class RegressorMixin:  # type: ignore[no-redef]
        pass

    class TransformerMixin:  # type: ignore[no-redef]
        def fit_transform(self, X: Any, y: Any = None, **also: Any) -> Any:
            """Fits, then transforms the same series."""
            return self.fit(X, y, **also).transform(X, **also)  # type: ignore[attr-defined]

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """A model is asked before it is fitted."""


__all__ = ["BaseEstimator", "ClassifierMixin", "NotFittedError", "RegressorMixin", "TransformerMixin"]
