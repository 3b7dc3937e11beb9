"""The process that reads files: a line of JSON in for each, a line of JSON out; what was read is in a folder.

It imports a format's library, then forks for each file. The fork binds itself (`confine.py`), reads, writes its folder and
ends, so that each file has a process, limits and a fate of its own, while libraries are imported once.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from typing import Any

from thud.errors import MissingExtraError, SceneFileError
from thud.io.scene.formats import FORMATS
from thud.io.scene.limits import SceneLimits
from thud.io.scene.text import printable

#: Where libraries and the system's own tables are, beside Python's folders.
_SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/proc/self",
    "/dev/urandom",
    "/sys/devices/system/cpu",
)


def serve() -> None:
    """Read jobs until the input ends."""
    for line in sys.stdin:
        job = json.loads(line)
        answer = _answer(job)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    """How reading one file went; errors of the file itself are in its folder."""
    form = FORMATS[job["format"]]
    try:
        reader = importlib.import_module(f"thud.io.scene.readers.{form.module}")
        for package in (*form.packages, *job.get("packages", ())):
            importlib.import_module(package)
    except ImportError as error:
        if isinstance(error, MissingExtraError) or error.name is None or error.name.split(".")[0] == "thud":
            raise
        return {"missing": error.name.split(".")[0]}
    if not hasattr(os, "fork"):
        return {"exit": _read(reader, job), "seconds": 0.0, "peak": 0, "late": False}
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            null, log = os.open(os.devnull, os.O_RDWR), os.open(os.path.join(job["folder"], "log"), os.O_CREAT | os.O_WRONLY)
            for old, new in ((null, 0), (null, 1), (log, 2)):
                os.dup2(old, new)
            code = _read(reader, job)
        finally:
            os._exit(code)
    return _wait(pid, job["limits"]["seconds"])


def _wait(pid: int, seconds: float) -> dict[str, Any]:
    begin, pause, late = time.monotonic(), 0.0005, False
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            break
        if not late and time.monotonic() - begin > seconds:
            late = True
            os.kill(pid, 9)
        time.sleep(pause)
        pause = min(0.02, 1.5 * pause)
    code = os.waitstatus_to_exitcode(status)
    return {"exit": code, "seconds": time.monotonic() - begin, "peak": usage.ru_maxrss, "late": late}


def _read(reader: Any, job: dict[str, Any]) -> int:
    """Read one file into its folder: 0 if that went well, 1 if its error is there."""
    from thud.io.scene.readers.confine import confine
    from thud.io.scene.readers.raw import RawScene

    limits, folder = SceneLimits(**job["limits"]), job["folder"]
    try:
        os.chdir(folder)
        os.environ.update(TMPDIR=folder, HOME=folder)
        readable = [job["path"], job["root"], *_SYSTEM, sys.prefix, sys.base_prefix, *(p for p in sys.path if p)]
        # Room for what goes back and for what a library makes on the way (cascadio a GLB).
        output = 2**26 + 40 * limits.vertices + 40 * limits.triangles
        raw = RawScene(limits)
        layers = confine(folder, readable, limits.memory_bytes, limits.seconds, output)
        reader.read(job["path"], raw, job["root"], job["options"])
        raw.write(folder)
        with open("layers.json", "w") as file:
            json.dump(layers, file)
    except MemoryError:
        return _fail("SceneLimitError", f"reading it took more than limits.memory_bytes = {limits.memory_bytes}")
    except RecursionError:
        return _fail("SceneLimitError", "nested too deeply")
    except SceneFileError as error:
        return _fail(type(error).__name__, str(error))
    except MissingExtraError as error:
        return _fail("MissingExtraError", str(error))
    except Exception as error:
        return _fail("SceneFileError", f"{type(error).__name__} in the reader: {error}")
    return 0


def _fail(kind: str, text: str) -> int:
    with open("error.json", "w", encoding="utf-8") as file:
        json.dump({"kind": kind, "text": printable(text, 1000)}, file)
    return 1
