"""A world in one file: an uncompressed .npz that `numpy.load` can read too, with a JSON header and nothing that runs code.

Members: `header.json` (version, options, names, options of meshes) and one `<name>.npy` for each of `world_state.ARRAYS`,
stored as they are. So a member is as large as it says and no larger than the file: what a file makes us allocate is at most a
few times its own size. Every number is checked before use (`world/world_state.py`, `shape_state.py`); limits are in
`constants.py`.
"""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.atomic import replaced
from thud.errors import FileFormatError, InvalidInputError, ThudError
from thud.gates import as_path, kind_of
from thud.io.tolerances import SAVED_HEADER
from thud.world.world import Filter, World
from thud.world.world_state import ARRAYS, VALUES, VERSION

_HEADER = "header.json"
_FORMAT = "thud world"

#: Members carry no time, so that the same world is the same bytes.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def save_world(world: World, path: str | os.PathLike[str]) -> None:
    """Write a world to a file: everything but its filter and its caches.

    A file of that name is replaced at once and as a whole: a reader, or a process killed meanwhile, never leaves or sees half
    of one.
    """
    if not isinstance(world, World):
        raise InvalidInputError(f"world: expected a thud.World, got {kind_of(world)}")
    target = as_path(path, "path")
    state = world.state()
    header = {"format": _FORMAT} | {name: state[name] for name in VALUES}
    with replaced(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER, _NO_TIME), json.dumps(header))
        for name, (kind, _) in ARRAYS.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _NO_TIME), "w", force_zip64=True) as member:
                array = np.ascontiguousarray(state[name], dtype=np.dtype(kind))
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)


def load_world(path: str | os.PathLike[str], *, filter: Filter | None = None) -> World:  # noqa: A002
    """The world of a file that `save_world` wrote. It gives the same answers to the last bit, and its handles are valid.

    The file need not be trusted. Anything wrong with it is a `FileFormatError`; that it is not there, a `FileNotFoundError`.

    Parameters
    ----------
    path : the file
    filter : as for `World`; a file has none
    """
    source = as_path(path, "path")
    try:
        # What cannot be opened is the system's error.
        with open(source, "rb") as file:
            state = _read(file, os.fstat(file.fileno()).st_size)
        return World.from_state(state, filter=filter)
    except ThudError as error:
        raise FileFormatError(f"{os.fspath(path)}: {error}") from None


def _read(file: io.BufferedReader, size: int) -> dict[str, Any]:
    """Header and arrays of a file; what they say is checked by `World.from_state`."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = {info.filename: info for info in archive.infolist()}
            if _HEADER not in members:
                raise FileFormatError("not a file of a world: it has no header.json")
            # The header first: files of an unknown version may have other members.
            _check_sizes({_HEADER: members[_HEADER]}, min(size, SAVED_HEADER))
            header = _header(archive.read(members[_HEADER]))
            expected = {_HEADER, *(f"{name}.npy" for name in ARRAYS)}
            if set(members) != expected or len(archive.infolist()) != len(expected):
                wrong = sorted(set(members) ^ expected)[:4] or "some twice"
                raise FileFormatError(f"expected {len(expected)} members, each once; wrong are {wrong}")
            _check_sizes(members, size)
            arrays = {name: _array(archive.read(members[f"{name}.npy"]), name) for name in ARRAYS}
    except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError, UnicodeError, ValueError) as error:
        if isinstance(error, ThudError):
            raise
        raise FileFormatError(f"not a whole file of a world ({error})") from None
    return header | arrays


def _check_sizes(members: dict[str, zipfile.ZipInfo], most: int) -> None:
    """Members are stored as they are, and together no larger than `most` bytes."""
    for name, info in members.items():
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
            raise FileFormatError(f"{name}: expected it neither compressed nor encrypted")
    total = sum(info.file_size for info in members.values())
    if total > most:
        raise FileFormatError(f"{', '.join(list(members)[:2])}: {total} bytes; expected at most {most}")


def _header(data: bytes) -> dict[str, Any]:
    try:
        header = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"header.json: not JSON ({error})") from None
    if not isinstance(header, dict) or header.pop("format", None) != _FORMAT:
        raise FileFormatError(f"header.json: expected the format {_FORMAT!r}")
    if header.get("version") != VERSION:
        raise FileFormatError(f"version {header.get('version')!r}: this thud reads version {VERSION}")
    if set(header) != set(VALUES):
        raise FileFormatError(f"header.json: expected the entries {', '.join(VALUES)}, got {sorted(header)[:8]}")
    return header


def _array(data: bytes, name: str) -> npt.NDArray[Any]:
    """One member: its own header must agree with what the array is for, and with the member's size."""
    kind, expected = ARRAYS[name]
    stream = io.BytesIO(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if np.lib.format.read_magic(stream) != (1, 0):
                raise FileFormatError(f"{name}: expected the version 1.0 of the npy format")
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except FileFormatError:
        raise
    except Exception as error:
        # Whatever the parser of the header makes of it.
        raise FileFormatError(f"{name}: not an array ({error})") from None
    if dtype.str != kind or fortran or len(shape) != len(expected) or any(type(side) is not int or side < 0 for side in shape):
        raise FileFormatError(f"{name}: expected {kind} with {len(expected)} axes, got {dtype} of shape {shape}")
    count = 1
    for side in shape:
        count *= side
    if len(data) - stream.tell() != count * dtype.itemsize:
        raise FileFormatError(f"{name}: shape {shape} does not fit the {len(data) - stream.tell()} bytes there are")
    return np.frombuffer(data, dtype, count, stream.tell()).reshape(shape).copy()
