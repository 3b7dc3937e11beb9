"""A thread with an OpenGL context of its own, by EGL, without a display: the stage that the two `backend_gl.py` draw on.

Contexts belong to the thread that made them. With a thread of ours any thread may call, and a context that is current in a
caller's thread stays so.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from thud.errors import MissingExtraError, UnsupportedQueryError

_Answer = TypeVar("_Answer")
_Stage = TypeVar("_Stage", bound="GlStage")

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


class GlStage:
    """A context, and what its driver has room for. Made on the thread that draws.

    Attributes
    ----------
    context : of moderngl
    name : the driver's, of what it draws with
    most_pixels : of a texture or a frame buffer, a side
    most_bytes : of a storage buffer
    """

    def __init__(self) -> None:
        self.context = make_context()
        info = self.context.info
        self.name = str(info["GL_RENDERER"])
        self.most_pixels = int(min(info["GL_MAX_TEXTURE_SIZE"], *info["GL_MAX_VIEWPORT_DIMS"]))
        self.most_bytes = int(info["GL_MAX_SHADER_STORAGE_BLOCK_SIZE"])


class GlThread(Generic[_Stage]):
    """One thread a process, begun at the first call, and the one stage on it.

    Parameters
    ----------
    name : of the thread
    instead : the backend to use where OpenGL cannot be
    make : the stage, with its programs
    """

    def __init__(self, name: str, instead: str, make: Callable[[], _Stage]) -> None:
        self._name, self._instead, self._make = name, instead, make
        self._stage: _Stage | None = None
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

    def stage(self) -> _Stage:
        """The stage, made at the first call; on its thread only."""
        if self._stage is None:
            self._stage = self._make()
        return self._stage
