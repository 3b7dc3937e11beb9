"""Buffers of numbers on OpenGL: made from arrays, bound, read, and released together."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.gl import GlStage
from thud.errors import UnsupportedQueryError

#: Bytes of a buffer at least: OpenGL has no empty ones.
LEAST_BYTES = 64


class Belongings:
    """What was made on a stage for one use, and is released after.

    Parameters
    ----------
    stage : where it is made
    arguments : the arguments that tables are made of, as errors name them
    instead : the backend that has what is too large for this one
    """

    def __init__(self, stage: GlStage, arguments: str, instead: str) -> None:
        self._stage, self._arguments, self._instead = stage, arguments, instead
        self._stack = ExitStack()

    def keep(self, thing: Any) -> Any:
        """Release it in the end."""
        self._stack.callback(thing.release)
        return thing

    def table(self, values: npt.NDArray[Any]) -> Any:
        """A buffer of numbers; never empty."""
        data, most = np.ascontiguousarray(values).tobytes(), self._stage.most_bytes
        if len(data) > most:
            raise UnsupportedQueryError(
                f"{self._arguments}: a table of {len(data)} bytes is more than the driver's {most}; "
                f'backend="{self._instead}" has it'
            )
        return self.keep(self._stage.context.buffer(data or bytes(LEAST_BYTES)))

    def room(self, size: int) -> Any:
        """A buffer of so many bytes that nothing is written to from here; never empty."""
        return self.keep(self._stage.context.buffer(reserve=max(size, LEAST_BYTES)))

    def release(self) -> None:
        """Give all of it back, the last one first."""
        self._stack.close()

    def __enter__(self) -> Belongings:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def bind_tables(tables: Mapping[int, Any]) -> None:
    """Buffers to the bindings that programs read and write them by."""
    for binding, buffer in tables.items():
        buffer.bind_to_storage_buffer(binding)


def first_number(buffer: Any, dtype: Any = np.uint32) -> int:
    """The integer of 32 bits that a buffer begins with."""
    return int(np.frombuffer(buffer.read(4), dtype)[0])
