"""STEP by cascadio (Open CASCADE): solids and assemblies made into triangles, handed on as GLB."""

from __future__ import annotations

import re
from typing import Any

from thud.errors import SceneFileError
from thud.io.scene.readers import gltf
from thud.io.scene.readers.raw import RawScene
from thud.io.scene.readers.references import References

#: How far triangles may be from a curved surface, relative to the length of each edge, where nothing else is asked.
_RELATIVE = 0.01

#: Largest angle between neighbouring triangles of a curved surface (radians).
_ANGLE = 0.3

_PREFIXES = {b"$": 1.0, b".MILLI.": 1e-3, b".CENTI.": 1e-2, b".DECI.": 0.1, b".MICRO.": 1e-6, b".KILO.": 1e3}


def read(path: str, raw: RawScene, root: str, options: dict[str, Any]) -> None:
    """Read a file; cascadio has turned its unit to metres, and leaves z up."""
    import cascadio

    with open(path, "rb") as file:
        data = file.read()
    if b"END-ISO-10303-21" not in data[-4096:]:
        raise SceneFileError("STEP: truncated, its last line END-ISO-10303-21; is not there")
    asked = options.get("deflection")
    deflection, relative = (float(asked), False) if asked is not None else (_RELATIVE, True)
    made = cascadio.load(
        data, file_type="step", tol_linear=deflection, tol_angular=_ANGLE, tol_relative=relative, use_parallel=False
    )
    if not made:
        raise SceneFileError("STEP: Open CASCADE finds no shape that it can read in it")
    raw.metres, raw.up, raw.stated = 1.0, "z", _unit(data)
    raw.note("assumed", f"curved surfaces are triangles within {_words(asked)}")
    gltf.read_bytes(made, raw, References(path, root, raw.limits))


def _words(asked: float | None) -> str:
    return f"{asked:g} of the file's unit" if asked is not None else f"{_RELATIVE:.0%} of their edges' lengths"


def _unit(data: bytes) -> float | None:
    """Metres of the file's unit of length; None if it is not found."""
    if re.search(rb"CONVERSION_BASED_UNIT\s*\(\s*'inch", data, re.IGNORECASE):
        return 0.0254
    found = re.search(rb"LENGTH_UNIT\s*\(\s*\)[^;]{0,200}?SI_UNIT\s*\(\s*(\$|\.\w+\.)\s*,\s*\.METRE\.", data)
    found = found or re.search(rb"SI_UNIT\s*\(\s*(\$|\.\w+\.)\s*,\s*\.METRE\.", data)
    return _PREFIXES.get(found.group(1).upper()) if found else None
