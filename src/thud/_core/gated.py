"""Attributes of objects that may be set at any time, each through a gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class Gated(Generic[T]):
    """An attribute: what is set goes through `gate(value, name)`, which gives it in one form or raises an error."""

    def __init__(self, gate: Callable[[Any, str], T]) -> None:
        self._gate = gate

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Gated[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> T | Gated[T]:
        if instance is None:
            return self
        try:
            value: T = vars(instance)[self._name]
        except KeyError:
            raise AttributeError(f"{type(instance).__name__!r} object has no attribute {self._name!r}") from None
        return value

    def __set__(self, instance: object, value: Any) -> None:
        vars(instance)[self._name] = self._gate(value, self._name)
