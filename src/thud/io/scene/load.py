"""`load_scene`: files of many formats as one scene."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence

from thud.errors import InvalidInputError, SceneFileError, SceneLimitError, ThudError
from thud.gates import as_positive
from thud.io.scene.build import build_scene
from thud.io.scene.child import Readers
from thud.io.scene.formats import FORMATS, MARKS
from thud.io.scene.limits import SceneLimits
from thud.io.scene.names import UniqueNames
from thud.io.scene.scene import Scene
from thud.io.scene.text import printable
from thud.pose import Pose, PoseLike, as_poses

PathLike = str | os.PathLike[str]


def load_scene(
    path: PathLike | Sequence[PathLike],
    *,
    units: str | float | None = None,
    up: str | None = None,
    poses: PoseLike = None,
    limits: SceneLimits | None = None,
    include_spaces: bool = False,
    root: PathLike | None = None,
    repair: bool = True,
    crossings: bool | None = None,
    urdf_geometry: str = "collision",
    deflection: float | None = None,
    readers: Readers | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Scene:
    """The parts of one or several files: names, hierarchy, places, meshes; in metres, z up.

    GLB and glTF, OBJ, STL, PLY, 3MF, DAE, STEP, IFC, USD (usd, usda, usdc, usdz), URDF. The files need not be trusted: each is
    read in a process of its own with limits on memory and time, nothing is fetched, and nothing is written.

    Parameters
    ----------
    path : a file, or several
    units : "mm", "inch", ... or metres of one unit: overrides what the files say
    up : "x", "y" or "z": the axis that points up in the files, overrides what they say
    poses : one for each file, or one for all: where its scene is put
    limits : how much a file may cost
    include_spaces : whether spaces of IFC files (rooms, air) are parts
    root : the folder that references of a file must stay in; its own by default
    repair : whether to make safe repairs (`notes` tells each)
    crossings : whether to look for triangles of a mesh that cross each other (10 microseconds a triangle); by default in
        meshes of up to 50,000 triangles, 300,000 in all
    urdf_geometry : "collision" or "visual"; a link that has none of it shows the other
    deflection : how far triangles may be from curved surfaces of STEP files, in the file's unit; by default 1 % of each edge
    readers : a process to use again (`thud.io.scene.child.Readers`); by default one that ends with the call
    progress : called with the files done, in fractions, and how many there are

    Raises
    ------
    FileNotFoundError
        A file is not there.
    SceneFileError
        A file is damaged, empty, or not what its name says; `SceneLimitError`, `SceneReferenceError` and `SceneReaderError`
        are such. The message begins with the file.
    MissingExtraError
        A format's package is not installed.
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not paths:
        raise InvalidInputError("path: expected a file or several, got none")
    rows = as_poses(poses, "poses")
    if len(rows) not in (1, len(paths)):
        raise InvalidInputError(f"poses: expected {len(paths)}, one a file, or one for all, got {len(rows)}")
    if urdf_geometry not in ("collision", "visual"):
        raise InvalidInputError(f"urdf_geometry: expected 'collision' or 'visual', got {urdf_geometry!r}")
    deflection = None if deflection is None else as_positive(deflection, "deflection")
    limits = limits or SceneLimits()
    options = {"include_spaces": bool(include_spaces), "urdf_geometry": urdf_geometry, "deflection": deflection}
    scene: Scene | None = None
    stems = UniqueNames()
    own = readers or Readers()
    try:
        for k, one in enumerate(paths):
            full = os.path.abspath(os.fspath(one))
            name = os.path.basename(full)
            tell = _teller(progress, k, len(paths))
            tell(0.0)
            try:
                ending = look_at(full, limits)
                real = os.path.realpath(full)
                folder = os.path.realpath(os.fspath(root)) if root is not None else os.path.dirname(real)
                found = own.read(real, ending, folder, limits, options)
                tell(0.5)
                stem = printable(os.path.splitext(name)[0], limits.name_length).replace("/", "_") or "file"
                prefix = stems.take(stem) if len(paths) > 1 else ""
                part = build_scene(
                    found, name, units, up, repair=repair, prefix=prefix, stem=stem if prefix else "", crossings=crossings,
                    progress=tell,
                )  # fmt: skip
                if not part.parts:
                    raise SceneFileError("there is no triangle in it")
            except SceneFileError as error:
                raise type(error)(f"{os.fspath(one)}: {error}") from None
            except MemoryError:
                raise SceneLimitError(f"{os.fspath(one)}: there is not enough memory for it") from None
            except InvalidInputError as error:
                raise error if _is_argument(error) else SceneFileError(f"{os.fspath(one)}: {error}") from None
            pose = Pose.from_rows(rows[k if len(rows) > 1 else 0], single=True)
            moved = part.moved(pose) if poses is not None else part
            scene = moved if scene is None else scene.joined(moved)
            if scene.triangle_count > limits.triangles or len(scene.parts) > limits.parts:
                raise SceneLimitError(f"{os.fspath(one)}: together more than limits.triangles or limits.parts allow")
    finally:
        if readers is None:
            own.close()
    assert scene is not None
    if progress is not None:
        progress(float(len(paths)), float(len(paths)))
    return scene


def _teller(progress: Callable[[float, float], None] | None, k: int, every: int) -> Callable[[float], None]:
    """Tells what fraction of file k is done; reading it is half of that."""

    def tell(fraction: float) -> None:
        if progress is not None:
            progress(k + fraction, float(every))

    return tell


def _is_argument(error: ThudError) -> bool:
    return str(error).startswith(("units:", "up:"))


def look_at(path: str, limits: SceneLimits) -> str:
    """The format of a file by its name, which its first bytes must not contradict."""
    # What cannot be opened is the system's error; a pipe would wait for a writer.
    if not os.path.isdir(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise SceneFileError("neither a file nor a link to one")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(256)
    ending = os.path.splitext(path)[1].lower().lstrip(".")
    if ending not in FORMATS:
        raise SceneFileError(f"the ending {'.' + ending!r} is not known; expected one of {', '.join(FORMATS)}")
    if size == 0:
        raise SceneFileError("the file is empty")
    if size > limits.file_bytes:
        raise SceneLimitError(f"{size} bytes; more than limits.file_bytes = {limits.file_bytes}")
    form, text = FORMATS[ending], head.removeprefix(b"\xef\xbb\xbf").lstrip()
    other = next((what for mark, what in MARKS.items() if head.startswith(mark)), None)
    if form.starts and not (head.startswith(form.starts) or text.startswith(form.starts)):
        # UTF-16 begins with a mark of its own, which XML readers know.
        if not (form.starts == (b"<",) and head[:2] in (b"\xff\xfe", b"\xfe\xff")):
            raise SceneFileError(f"not {form.name}: it begins with {head[:12]!r}" + (f", as {other} does" if other else ""))
    elif not form.starts and other is not None:
        raise SceneFileError(f"not {form.name}: it begins as {other} does")
    return ending
