"""Malformed scene files by mutation: `python -m tests.fuzz.scene_files [--count 300] [--seed 0] [--case N]`.

Each case is one file of the assembly of `tests/io/scene_files`, spoilt by one to four mutations that its number alone decides.
The rules: a scene or a named error, within the time and memory limit, and no file outside changed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import struct
import tempfile
import time
import zipfile
import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from tests.io.scene_files.make import FORMATS, make
from thud.errors import SceneFileError
from thud.io import Scene, SceneLimits, load_scene
from thud.io.scene.child import Readers

LIMITS = SceneLimits(
    file_bytes=2**24,
    memory_bytes=3 * 2**30,
    seconds=20.0,
    triangles=200_000,
    vertices=200_000,
    parts=2_000,
    archive_bytes=2**26,
)

#: Beyond the reader's own limit (seconds): the check of what comes back, on a machine with other work.
SLACK = 15.0


@dataclass(frozen=True)
class Outcome:
    """How a case went: "scene" or the error's name, and what was broken, if anything."""

    case: int
    ending: str
    what: str
    text: str
    seconds: float
    broken: tuple[str, ...]


def originals(folder: Path) -> dict[str, Path]:
    """A whole file of each format, beside what it refers to."""
    return {ending: make(ending, folder / ending) for ending in FORMATS}


def mutated(data: bytes, ending: str, case: int) -> bytes:
    """The bytes of a case: archives are mutated inside or outside, text in its words, all in their bytes."""
    dice = random.Random(f"thud {ending} {case}")
    # Mostly one: what is broken in many places shows the first of them alone.
    for _ in range(dice.choice((1, 1, 1, 1, 2, 4))):
        if ending in ("3mf", "usdz") and dice.random() < 0.6:
            data = _inside(data, dice)
        elif ending == "glb" and dice.random() < 0.5:
            data = _json_chunk(data, dice)
        elif ending in ("gltf", "obj", "dae", "step", "ifc", "usda", "urdf") and dice.random() < 0.7:
            data = _words(data, dice)
        else:
            data = _bytes(data, dice)
    return data


def _bytes(data: bytes, dice: random.Random) -> bytes:
    out = bytearray(data)
    if not out:
        return b"\0"
    at, kind = dice.randrange(len(out)), dice.choice((0, 0, 0, 4, 4, 1, 2, 3, 5))
    if kind == 0:
        for _ in range(dice.choice((1, 4, 32))):
            out[dice.randrange(len(out))] ^= 1 << dice.randrange(8)
    elif kind == 1:
        del out[at:]
    elif kind == 2:
        del out[at : at + dice.choice((1, 4, 100))]
    elif kind == 3:
        out[at:at] = out[at : at + dice.choice((4, 64, 1000))]
    elif kind == 4:
        out[at : at + 4] = dice.choice(
            (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\0\0\xc0\x7f", b"\0\0\x80\x7f")
        )
    else:
        out[at:at] = dice.randbytes(dice.choice((1, 16, 256)))
    return bytes(out)


_NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")
_HOSTILE = (b"nan", b"1e400", b"-1", b"0", b"99999999999999999999", b"2147483647", b"1e308", b"-1e-320", b"", b"#1", b"$")


def _words(data: bytes, dice: random.Random) -> bytes:
    """Exchange a number, double or drop or exchange lines, put a hostile piece in."""
    kind = dice.randrange(5)
    if kind <= 1:
        found = list(_NUMBER.finditer(data))
        for match in dice.sample(found, min(len(found), dice.choice((1, 1, 3)))):
            if match.end() <= len(data):
                data = data[: match.start()] + dice.choice(_HOSTILE) + data[match.end() :]
        return data
    pieces = re.split(rb"(?<=[;\n>}])", data)
    at, to = dice.randrange(len(pieces)), dice.randrange(len(pieces))
    if kind == 2:
        pieces[at] = b""
    elif kind == 3:
        pieces[at], pieces[to] = pieces[to], pieces[at]
    else:
        pieces[at] = pieces[at] * dice.choice((2, 50))
    return b"".join(pieces)


def _json_chunk(data: bytes, dice: random.Random) -> bytes:
    """Words of the JSON in a GLB, its lengths made right again."""
    if len(data) < 20:
        return _bytes(data, dice)
    size = struct.unpack_from("<I", data, 12)[0]
    text, rest = _words(data[20 : 20 + size], dice), data[20 + size :]
    text += b" " * (-len(text) % 4)
    return struct.pack("<4sIII4s", b"glTF", 2, 20 + len(text) + len(rest), len(text), b"JSON") + text + rest


def _inside(data: bytes, dice: random.Random) -> bytes:
    """A member of an archive, packed again as it was."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = [(info, archive.read(info)) for info in archive.infolist()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError, zlib.error):
        return _bytes(data, dice)
    if not members:
        return _bytes(data, dice)
    chosen, out = dice.randrange(len(members)), BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for k, (info, body) in enumerate(members):
            spoil = _words if info.filename.endswith((".model", ".rels", ".xml")) else _bytes
            archive.writestr(info.filename, spoil(body, dice) if k == chosen else body, info.compress_type)
    return out.getvalue()


def listing(folder: Path) -> list[tuple[str, int, int]]:
    """Every file below a folder with its size and time."""
    return sorted((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file())


def run_case(case: int, files: dict[str, Path], readers: Readers) -> Outcome:
    """Make, read and judge one case."""
    ending = FORMATS[case % len(FORMATS)]
    whole = files[ending]
    path = whole.with_name(f"case.{ending}")
    path.write_bytes(mutated(whole.read_bytes(), ending, case))
    before, broken = listing(whole.parent.parent), []
    begin = time.monotonic()
    try:
        scene = load_scene(path, limits=LIMITS, readers=readers)
        what, text = "scene", repr(scene)
        assert isinstance(scene, Scene)
        if scene.triangle_count > LIMITS.triangles or len(scene) > LIMITS.parts:
            broken.append("more than the limits allow")
        json.dumps([part.name for part in scene])
    except SceneFileError as error:
        what, text = type(error).__name__, str(error)
        if not text.startswith(str(path)) or len(text) > 2000 or not text.isprintable():
            broken.append("a message without its file, or not printable")
    except Exception as error:
        # Whatever is not a named error is what this is looking for.
        what, text = type(error).__name__, str(error)
        broken.append(f"an error that is none of ours: {what}: {text[:300]}")
    seconds = time.monotonic() - begin
    if seconds > LIMITS.seconds + SLACK:
        broken.append(f"{seconds:.1f} s, beyond the limit")
    if readers.peak_bytes > LIMITS.memory_bytes:
        broken.append(f"{readers.peak_bytes} bytes, beyond the limit")
    if listing(whole.parent.parent) != before:
        broken.append("files beside it were written or changed")
    path.unlink()
    return Outcome(case, ending, what, text, seconds, tuple(broken))


def main() -> None:
    """Run cases, print what they gave, end with 1 if a rule is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="where the numbers of the cases begin, in thousands")
    parser.add_argument("--case", type=int, help="one case alone, kept in the current folder")
    options = parser.parse_args()
    cases = range(1000 * options.seed, 1000 * options.seed + options.count) if options.case is None else [options.case]
    tally: dict[tuple[str, str], int] = {}
    broken, begin = [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Readers() as readers:
        files = originals(Path(folder))
        for case in cases:
            if options.case is not None:
                ending = FORMATS[case % len(FORMATS)]
                Path(f"case.{ending}").write_bytes(mutated(files[ending].read_bytes(), ending, case))
            outcome = run_case(case, files, readers)
            tally[outcome.ending, outcome.what] = tally.get((outcome.ending, outcome.what), 0) + 1
            if outcome.broken or options.case is not None:
                print(outcome)
            broken += [outcome] if outcome.broken else []
            if case % 50 == 49:
                print(f"  {case + 1 - cases[0]} cases, {time.monotonic() - begin:.0f} s", flush=True)
    for (ending, what), count in sorted(tally.items()):
        print(f"{ending:6} {what:20} {count}")
    print(f"{len(cases)} cases in {time.monotonic() - begin:.1f} s; {len(broken)} break a rule")
    if broken:
        print("again: python -m tests.fuzz.scene_files --case", broken[0].case)
    raise SystemExit(1 if broken else 0)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()
