"""A thread with an OpenGL context of its own, by EGL, without a display: what the two `backend_gl.py` draw on.

Contexts belong to the thread that made them. With a thread of ours any thread may call, and a context that is current in a
caller's thread stays so.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from thud.errors import MissingExtraError, UnsupportedQueryError

_Answer = TypeVar("_Answer")

#: What the programs need: 64-bit arithmetic (4.0), storage buffers and compute shaders (4.3).
GL_VERSION = 430

INSTALL = (
    'the OpenGL backend needs OpenGL 4.3 through EGL: pip install "thud[gpu]" and a driver; on Debian without a graphics card: '
    "apt install libegl1 libgl1 libegl-mesa0 libgl1-mesa-dri"
)


def make_context() -> Any:
    """A context of moderngl, current in this thread; an error that says what to install where that cannot be."""
    try:
        import moderngl
    except ImportError as error:
        raise MissingExtraError.for_package("moderngl", "gpu") from error
    settings: dict[str, Any] = {"require": GL_VERSION, "backend": "egl"}
    try:
        return moderngl.create_context(standalone=True, **settings)
    except Exception as error:  # moderngl raises bare Exception where EGL has no device, others where it is not there
        raise MissingExtraError(f"{INSTALL} ({error})") from error


class GlThread:
    """One thread a process, begun at the first call.

    Parameters
    ----------
    name : of the thread
    instead : the backend to use where OpenGL cannot be
    """

    def __init__(self, name: str, instead: str) -> None:
        self._name, self._instead = name, instead
        self._lock = threading.Lock()
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    def run(self, function: Callable[[], _Answer]) -> _Answer:
        """Call a function on the thread and wait for its answer."""
        pid = os.getpid()
        with self._lock:
            if self._pool is not None and self._pool[0] != pid:
                # Drivers do not survive a fork: they wait for threads that are not there.
                raise UnsupportedQueryError(
                    'backend: OpenGL was in use when this process was forked; start processes by "spawn", or use '
                    f'backend="{self._instead}"'
                )
            if self._pool is None:
                self._pool = (pid, ThreadPoolExecutor(1, thread_name_prefix=self._name))
            pool = self._pool[1]
        return pool.submit(function).result()
