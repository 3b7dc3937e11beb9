"""`thud terrain verify`: all of a store, in a process of its own, so that no file can harm the one that asks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from thud import errors
from thud.errors import DamagedStoreError, FileFormatError, ThudError


class Verified(NamedTuple):
    """A store that is whole."""

    tiles: int
    bytes: int
    """Of all records."""
    triangles: int
    content_hash: str | None
    """As the manifest has it, and as it is; None for a store that is being built."""


def verify(path: str | os.PathLike[str], *, progress: Callable[[int, int], None] | None = None) -> Verified:
    """Walk everything in a store: pages, manifest, every record, every bound, the content hash. What is wrong is a named error.

    It is done in a process of its own: a store that ends it, by whatever signal, is a `DamagedStoreError` here.

    Parameters
    ----------
    path : the folder
    progress : called with the number of tiles done, and of all
    """
    folder = os.fspath(path)
    if not os.path.exists(folder):
        raise FileNotFoundError(f"{folder}: no such folder")
    package = str(Path(__file__).parents[3])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))}
    # The kernels' notices go where this process's would.
    command = [sys.executable, "-m", "thud.terrain.tiles.verify", folder]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    answer: dict[str, Any] = {}
    assert worker.stdout is not None
    try:
        for line in worker.stdout:
            answer = json.loads(line)
            if progress is not None and "done" in answer:
                progress(answer["done"], answer["all"])
        code = worker.wait()
    except BaseException:
        worker.kill()
        worker.wait()
        raise
    finally:
        worker.stdout.close()
    if "error" in answer:
        kind = getattr(errors, answer["error"], FileFormatError)
        raise kind(answer["text"])
    if code < 0:
        raise DamagedStoreError(f"{folder}: the process that read it was ended by {signal.Signals(-code).name}")
    if code or "tiles" not in answer:
        raise ThudError(f"{folder}: the process that read it ended with code {code}")
    return Verified(**answer)


def verify_here(folder: Path, report: Callable[[int, int], None]) -> Verified:
    """The same in this process."""
    from thud.terrain.tiles.environment import environment
    from thud.terrain.tiles.ground_tile import GroundTile, check_reach, reach_of_ground
    from thud.terrain.tiles.snapshot import Snapshot, key_bytes
    from thud.terrain.tiles.tile import Tile

    own = environment(folder)
    try:
        snapshot = Snapshot(own)
        rows, size, triangles, manifest, box = [], 0, 0, snapshot.manifest, None
        for done, (key, place) in enumerate(sorted(snapshot.places.items(), key=lambda row: key_bytes(row[0]))):
            tile = Tile(snapshot.record(place), key=key, owner=snapshot)
            if tile.kind != manifest.kind or not manifest.holds(key):
                raise DamagedStoreError(f"tile {tuple(key)}: of kind {tile.kind}, or outside the grid of the manifest")
            if not manifest.fits(key, *tile.bounds):
                raise DamagedStoreError(f"tile {tuple(key)}: it reaches beyond its place and the manifest's overhang")
            ground = GroundTile(tile, place.size)
            box = reach_of_ground(manifest, ground) if box is None else box
            check_reach(box, ground)
            tile.verify()
            rows.append((key_bytes(key), place.size, tile.digest))
            size, triangles = size + place.size, triangles + tile.triangle_count
            report(done + 1, len(snapshot.places))
        if manifest.is_complete and manifest.finished(rows) != manifest:
            raise DamagedStoreError("its content hash is not that of its records: tiles are missing or were exchanged")
        snapshot.close()
    except FileFormatError as error:
        where = os.fspath(folder)
        raise type(error)(str(error) if str(error).startswith(where) else f"{where}: {error}") from None
    finally:
        own.release()
    return Verified(len(rows), size, triangles, manifest.content_hash)


def _main() -> None:
    """A line of JSON for each tile, then what was found."""

    def report(done: int, every: int) -> None:
        print(json.dumps({"done": done, "all": every}), flush=True)

    try:
        found = verify_here(Path(sys.argv[1]), report)._asdict()
    except (ThudError, OSError) as error:
        found = {"error": type(error).__name__, "text": str(error)}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    _main()
