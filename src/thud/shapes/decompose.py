"""Approximate convex decomposition of a closed mesh into a Compound ([Yang] 2.7.1), by CoACD (Wei et al. 2022).

CoACD cuts the mesh until each part is as convex as the threshold asks. That takes seconds to minutes, so the parts are kept
on disk under a hash of the mesh, the settings and CoACD's version.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from thud._core.arrays import Floats
from thud.errors import InvalidInputError, InvalidShapeError, MissingExtraError, UnsupportedQueryError
from thud.shapes.compound import Compound
from thud.shapes.convex_hull import ConvexHull
from thud.shapes.triangle_mesh import TriangleMesh


def decompose(
    mesh: TriangleMesh,
    *,
    threshold: float = 0.05,
    max_parts: int | None = None,
    seed: int = 0,
    progress: bool = True,
    cache: bool = True,
) -> Compound:
    """A Compound of convex hulls that together are about the mesh. Needs `pip install "thud[decompose]"`.

    The parts follow the surface to about the threshold; where the mesh is concave they may bridge less than that.

    Parameters
    ----------
    mesh : a closed mesh
    threshold : concavity left in a part, as a fraction of the mesh scaled to a unit cube: 0.01 (fine) to 1
    max_parts : at most so many parts (more concave ones then); default no limit
    seed : of CoACD's tree search; the same seed gives the same parts
    progress : a line on stderr while it works
    cache : keep the parts on disk and take them from there the next time (THUD_CACHE_DIR, else the user's cache folder)
    """
    if not isinstance(mesh, TriangleMesh):
        raise InvalidInputError(f"mesh: expected a TriangleMesh, got a {type(mesh).__name__}")
    if not mesh.is_closed:
        raise UnsupportedQueryError("decompose: the mesh is open (see mesh.problems()); expected a closed one")
    if not (isinstance(threshold, (int, float)) and 0.01 <= threshold <= 1.0):
        raise InvalidInputError(f"threshold: expected a number from 0.01 to 1, got {threshold!r}")
    if max_parts is not None and (isinstance(max_parts, bool) or not isinstance(max_parts, int) or max_parts < 1):
        raise InvalidInputError(f"max_parts: expected a whole number of at least 1, got {max_parts!r}")
    try:
        version = importlib.metadata.version("coacd")
    except importlib.metadata.PackageNotFoundError:
        raise MissingExtraError.for_package("coacd", "decompose") from None
    key = _key(mesh, f"coacd {version} threshold {threshold!r} parts {max_parts!r} seed {seed!r}")
    path = _folder() / f"{key}.npz"
    parts = _load(path) if cache else None
    if parts is None:
        parts = _run(mesh, float(threshold), max_parts, int(seed), progress)
        if cache:
            _store(path, parts)
    return Compound([ConvexHull(points) for points in parts])


def _key(mesh: TriangleMesh, settings: str) -> str:
    digest = hashlib.sha256(settings.encode())
    for array in (np.asarray(mesh.vertices), np.asarray(mesh.faces)):
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _folder() -> Path:
    chosen = os.environ.get("THUD_CACHE_DIR")
    base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "thud"
    return base / "decompositions"


def _load(path: Path) -> list[Floats] | None:
    """Parts from the cache; None if there are none, or the file is not what it should be."""
    try:
        with np.load(path, allow_pickle=False) as file:
            points, starts = file["points"], file["starts"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    good = points.ndim == 2 and points.shape[1] == 3 and points.dtype == np.float64 and np.isfinite(points).all()
    good = good and starts.ndim == 1 and starts.dtype == np.int64 and len(starts) > 1
    if not good or starts[0] != 0 or starts[-1] != len(points) or (np.diff(starts) < 4).any():
        return None
    return np.split(points, starts[1:-1])


def _store(path: Path, parts: list[Floats]) -> None:
    """Whole or not at all: written beside and renamed. A full or read-only disk is no reason to fail."""
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npz", delete=False) as file:
            np.savez_compressed(file, points=np.concatenate(parts), starts=starts)
        os.replace(file.name, path)
    except OSError as error:
        print(f"thud: the decomposition was not kept on disk: {error}", file=sys.stderr)


def _run(mesh: TriangleMesh, threshold: float, max_parts: int | None, seed: int, progress: bool) -> list[Floats]:
    import coacd

    coacd.set_log_level("error")
    faces = np.asarray(mesh.faces)
    if mesh.problems().inverted:
        faces = faces[:, ::-1]
    # In the mesh's own frame about its middle: CoACD scales to a unit cube and loses digits of an offset.
    origin = mesh.origin
    model = coacd.Mesh(np.asarray(mesh.vertices) - origin, np.ascontiguousarray(faces))
    ticker = _Ticker(progress, len(faces))
    with ticker:
        found = coacd.run_coacd(model, threshold=threshold, max_convex_hull=max_parts or -1, seed=seed)
    parts = []
    for vertices, _faces in found:
        points = np.asarray(vertices, dtype=np.float64) + origin
        try:
            parts.append(np.asarray(ConvexHull(points).vertices))
        except InvalidShapeError:
            continue  # a sliver without volume adds nothing
    if not parts:
        raise InvalidShapeError("decompose: no part with a volume was found")
    ticker.done(len(parts))
    return parts


class _Ticker:
    """A progress line with the seconds so far: CoACD itself says nothing of how far it has come."""

    def __init__(self, shown: bool, triangles: int) -> None:
        self.shown, self.triangles, self.begin = shown, triangles, time.monotonic()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> _Ticker:
        if self.shown:
            self.thread.start()
        return self

    def __exit__(self, *_error: Any) -> None:
        self.stop.set()
        if self.shown:
            self.thread.join()

    def _tick(self) -> None:
        while not self.stop.wait(0.5):
            seconds = time.monotonic() - self.begin
            print(f"\rdecomposing {self.triangles} triangles: {seconds:.0f} s", end="", file=sys.stderr, flush=True)

    def done(self, parts: int) -> None:
        """The line's end."""
        seconds = time.monotonic() - self.begin
        if self.shown and seconds > 0.5:
            print(f"\rdecomposed {self.triangles} triangles into {parts} parts in {seconds:.1f} s", file=sys.stderr)
