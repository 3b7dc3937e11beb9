"""Starting the process that reads files, and taking over what it hands back without believing it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from thud import errors
from thud._core.arrays import Floats, Ints
from thud.errors import MissingExtraError, SceneFileError, SceneLimitError, SceneReaderError
from thud.io.scene.formats import FORMATS
from thud.io.scene.limits import SceneLimits
from thud.io.scene.text import printable

#: One thread each, and few arenas: address space is limited.
_QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PXR_WORK_THREAD_LIMIT": "1"}
_QUIET |= {"MALLOC_ARENA_MAX": "2", "TBB_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8", "PXR_PLUGINPATH_NAME": ""}

#: All that the process gets of the environment: what a parser that was taken over need not know is not there.
_PASSED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")

_START = (
    "import sys, json; sys.path[:] = json.loads(sys.stdin.readline()); from thud.io.scene.readers.main import serve; serve()"
)

#: Largest text that comes back (bytes): names, ids and matrices are far less.
_MOST_TEXT = 2**28

#: Grace beyond the time limit until the starter itself is given up (seconds).
_GRACE = 10.0


@dataclass(frozen=True)
class Found:
    """What a reader hands back, checked: rows that exist, finite numbers, parents before children."""

    nodes: list[dict[str, Any]]
    notes: list[tuple[int, str, str]]
    matrices: Floats
    meshes: list[tuple[Floats, Ints]]
    metres: float | None
    stated: float | None
    up: str
    robot: dict[str, Any] | None
    layers: tuple[str, ...]


class Readers:
    """The process that reads files, for as many files as one likes; to be closed (a context manager)."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        #: Largest memory (resident) of the last file's process, bytes; 0 where the system does not tell.
        self.peak_bytes = 0

    def __enter__(self) -> Readers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            if hasattr(os, "killpg"):
                # With the process that reads a file right now.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

    def read(self, path: str, ending: str, root: str, limits: SceneLimits, options: dict[str, Any]) -> Found:
        """Read one file in a process of its own."""
        with _folder() as folder:
            job = {
                "path": path,
                "format": ending,
                "root": root,
                "folder": folder,
                "limits": asdict(limits),
                "options": options,
            }
            try:
                status = self._ask(job, limits.seconds)
            except BaseException:
                # Interrupted: an answer that comes later must not be taken for that of the next file.
                self.close()
                raise
            self.peak_bytes = 1024 * int(status.get("peak", 0))
            _judge(status, ending, folder, limits)
            return _take(folder, limits)

    def _ask(self, job: dict[str, Any], seconds: float) -> dict[str, Any]:
        if self._process is None or self._process.poll() is not None or not hasattr(os, "fork"):
            self.close()
            environment = {name: os.environ[name] for name in _PASSED if name in os.environ} | _QUIET
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-B", "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                close_fds=True,
                start_new_session=True,
            )
            self._send([os.path.abspath(p) if p else os.getcwd() for p in sys.path])
        self._send(job)
        line = self._line(seconds + _GRACE + 30.0)
        if line is None:
            raise SceneReaderError("the process that reads files ended or does not answer; see whether thud can start Python")
        return json.loads(line)

    def _send(self, value: Any) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(value).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise SceneReaderError("the process that reads files ended at its start") from None

    def _line(self, seconds: float) -> bytes | None:
        assert self._process is not None
        assert self._process.stdout is not None
        if hasattr(os, "fork"):
            ready, _, _ = select.select([self._process.stdout], [], [], seconds)
            if not ready:
                return None
        return self._process.stdout.readline(2**16) or None


@contextmanager
def _folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="thud_scene_", ignore_cleanup_errors=True) as folder:
        yield os.path.realpath(folder)


def _judge(status: dict[str, Any], ending: str, folder: str, limits: SceneLimits) -> None:
    """The error, if it did not go well."""
    form = FORMATS[ending]
    if "missing" in status:
        raise MissingExtraError.for_package(printable(status["missing"], 60), form.extra)
    if status.get("late"):
        raise SceneLimitError(f"reading it took longer than limits.seconds = {limits.seconds:g}")
    code = status.get("exit")
    if code == 0:
        return
    failure = _json(os.path.join(folder, "error.json"), 2**16) if code == 1 else None
    if isinstance(failure, dict):
        kind = getattr(errors, str(failure.get("kind")), SceneFileError)
        kind = kind if kind is MissingExtraError or issubclass(kind, SceneFileError) else SceneFileError
        raise kind(printable(failure.get("text", ""), 1000))
    # Out of memory a library may abort, and our own words about it find no room.
    hint = f" (it may have met limits.memory_bytes = {limits.memory_bytes})"
    if isinstance(code, int) and code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        if name == "SIGXCPU":
            raise SceneLimitError(f"reading it took longer than limits.seconds = {limits.seconds:g}")
        shown = hint if name in ("SIGABRT", "SIGKILL") else ""
        raise SceneReaderError(f"the reader of {form.name} crashed with {name}{shown}; the file is damaged or hostile")
    raise SceneReaderError(f"the reader of {form.name} ended with code {code}{hint}; the file is damaged or hostile")


def _json(path: str, most: int) -> Any:
    """JSON of a regular file of at most so many bytes; None if it is not that."""
    try:
        with _regular(path, most) as file:
            return json.loads(file.read(most + 1))
    except (OSError, ValueError, RecursionError):
        return None


def _regular(path: str, most: int) -> Any:
    """An open file that is no link, pipe or device, and not too large."""
    import stat

    if not stat.S_ISREG(os.lstat(path).st_mode) or os.path.getsize(path) > most:
        raise SceneReaderError(f"{os.path.basename(path)}: the reader left something that is not what it should leave")
    return open(path, "rb")


def _array(folder: str, name: str, kind: str, width: int, most: int) -> Any:
    """Rows of numbers that a reader wrote; the size of its file is checked before it is read."""
    with _regular(os.path.join(folder, f"{name}.npy"), most * width * 8 + 4096) as file:
        array = np.lib.format.read_array(file, allow_pickle=False, max_header_size=4096)
    if array.dtype != np.dtype(kind) or array.ndim != 2 or array.shape[1] != width or len(array) > most:
        raise SceneReaderError(f"{name}: the reader left {array.dtype} of shape {array.shape}")
    return np.ascontiguousarray(array)


def _take(folder: str, limits: SceneLimits) -> Found:
    """What the reader left, every number of it checked."""
    header = _json(os.path.join(folder, "scene.json"), _MOST_TEXT)
    try:
        vertices = _array(folder, "vertices", "<f8", 3, limits.vertices)
        faces = _array(folder, "faces", "<i8", 3, limits.triangles)
        matrices = _array(folder, "matrices", "<f8", 16, limits.parts).reshape(-1, 4, 4)
        meshes = _split(header["counts"], vertices, faces)
        nodes = [_node(row, k, len(meshes), limits) for k, row in enumerate(header["nodes"])]
        if sum(node["mesh"] >= 0 for node in nodes) != len(matrices):
            raise ValueError("as many matrices as parts")
        if not (np.isfinite(vertices).all() and np.isfinite(matrices).all()):
            raise ValueError("finite numbers")
        notes = [(int(n), str(s), printable(t, 400)) for n, s, t in header["notes"][:1000]]
        metres, stated = _length(header["metres"]), _length(header["stated"])
        if header["up"] not in ("x", "y", "z"):
            raise ValueError("an axis")
    except SceneFileError:
        raise
    except Exception as error:
        raise SceneReaderError(f"what the reader left is not whole ({printable(error, 200)})") from None
    layers = _json(os.path.join(folder, "layers.json"), 4096)
    return Found(
        nodes,
        notes,
        matrices,
        meshes,
        metres,
        stated,
        header["up"],
        header["robot"],
        tuple(layers) if isinstance(layers, list) else (),
    )


def _length(value: Any) -> float | None:
    if value is not None and not 0.0 < float(value) < 1e12:
        raise SceneFileError(f"its unit is {float(value):g} metres; expected a length, or units= to override it")
    return None if value is None else float(value)


def _split(counts: Any, vertices: Floats, faces: Ints) -> list[tuple[Floats, Ints]]:
    meshes, v, f = [], 0, 0
    for v_count, f_count in counts:
        mine = vertices[v : v + int(v_count)], faces[f : f + int(f_count)]
        if len(mine[0]) != v_count or len(mine[1]) != f_count or f_count < 1 or v_count < 1:
            raise ValueError("counts that fit")
        if mine[1].min() < 0 or mine[1].max() >= v_count:
            raise ValueError("vertex numbers that exist")
        meshes.append(mine)
        v, f = v + int(v_count), f + int(f_count)
    return meshes


def _node(row: Any, k: int, meshes: int, limits: SceneLimits) -> dict[str, Any]:
    parent, mesh = int(row["parent"]), int(row["mesh"])
    if not -1 <= parent < k or not -1 <= mesh < meshes:
        raise ValueError(f"node {k} with parent {parent} and mesh {mesh}")
    return {
        "name": printable(row["name"], limits.name_length),
        "parent": parent,
        "mesh": mesh,
        "guid": printable(row["guid"], 64) if "guid" in row else None,
        "kind": printable(row.get("kind", ""), 64),
    }
