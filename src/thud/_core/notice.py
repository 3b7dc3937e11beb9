"""What a first call that compiles says on stderr: what it compiles, and about how long that will take."""

from __future__ import annotations

from typing import Any

from numba.core import event

from thud._core import kernel_key, store

#: Seconds of compiling for each node of the syntax trees that a kernel reaches, measured on first calls.
SECONDS_A_NODE = 4e-4

#: Nothing is said of what takes less.
WORTH_SAYING = 1.0

_ADVICE = "(`thud.warmup()` compiles everything at once)"


class _Listener(event.Listener):
    """Speaks when a compilation begins that is not part of another; `thud.warmup()` shows its own progress."""

    def __init__(self) -> None:
        self.silent = False
        self._depth = 0
        self._known: set[str] = set()
        #: Seconds of compilations too small to be named; many of them are said once.
        self._unsaid = 0.0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        function = event.data["dispatcher"].py_func
        if self.silent or self._depth > 1 or not str(function.__module__).startswith("thud."):
            return
        try:
            nodes = kernel_key.reach(function)
        except kernel_key.Unknown:
            return
        seconds = SECONDS_A_NODE * sum(node.size for node in nodes if node.name not in self._known)
        self._known.update(node.name for node in nodes)
        if seconds >= WORTH_SAYING:
            store.say(f"thud: compiling {function.__name__} for its first use, about {seconds:.0f} s {_ADVICE}")
        elif self._unsaid < WORTH_SAYING:
            self._unsaid += seconds
            if self._unsaid >= WORTH_SAYING:
                store.say(f"thud: compiling small kernels such as {function.__name__} for their first use {_ADVICE}")

    def on_end(self, event: Any) -> None:
        self._depth -= 1


listener = _Listener()


def register() -> None:
    """Begin to listen."""
    event.register("numba:compile", listener)
