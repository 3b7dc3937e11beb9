"""Ropes, cloth and rag dolls of sticks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.dynamics.sticks.sticks import Sticks
from thud.errors import InvalidInputError
from thud.gates import as_positive, as_vector
from thud.pose import PoseLike, as_poses

#: Points of the rag doll, metres, for a height of 1.8 m: it stands at the origin, faces +y, its arms along x.
DOLL = {
    "head": (0.0, 0.02, 1.68), "neck": (0.0, -0.02, 1.48), "chest": (0.0, 0.10, 1.30), "back": (0.0, -0.10, 1.15),
    "left shoulder": (-0.20, 0.0, 1.42), "right shoulder": (0.20, 0.0, 1.42),
    "left elbow": (-0.48, -0.02, 1.42), "right elbow": (0.48, -0.02, 1.42),
    "left hand": (-0.74, 0.0, 1.42), "right hand": (0.74, 0.0, 1.42),
    "left hip": (-0.12, 0.0, 0.94), "right hip": (0.12, 0.0, 0.94),
    "left knee": (-0.13, 0.02, 0.50), "right knee": (0.13, 0.02, 0.50),
    "left foot": (-0.14, 0.0, 0.06), "right foot": (0.14, 0.0, 0.06),
}  # fmt: skip

#: Shares of its mass, in the same order.
_DOLL_MASS = (5.0, 2.0, 10.0, 10.0, 4.0, 4.0, 2.0, 2.0, 1.5, 1.5, 8.0, 8.0, 5.5, 5.5, 3.0, 3.0)

#: Sticks that are seen, as limbs, and meet things.
_DOLL_BONES = (
    ("head", "neck"), ("neck", "left shoulder"), ("neck", "right shoulder"), ("left shoulder", "left elbow"),
    ("left elbow", "left hand"), ("right shoulder", "right elbow"), ("right elbow", "right hand"),
    ("left shoulder", "left hip"), ("right shoulder", "right hip"), ("left hip", "right hip"), ("left hip", "left knee"),
    ("left knee", "left foot"), ("right hip", "right knee"), ("right knee", "right foot"), ("chest", "back"),
)  # fmt: skip

#: Points of the trunk, all joined to each other: it is rigid.
_DOLL_TRUNK = ("neck", "chest", "back", "left shoulder", "right shoulder", "left hip", "right hip")

#: Sticks that only resist being shorter, and by what part of their length (the limits of joints).
_DOLL_LIMITS = (
    ("head", "chest", 0.75), ("head", "back", 0.75), ("head", "left shoulder", 0.8), ("head", "right shoulder", 0.8),
    ("left shoulder", "left hand", 0.35), ("right shoulder", "right hand", 0.35), ("left hip", "left foot", 0.45),
    ("right hip", "right foot", 0.45), ("left shoulder", "left knee", 0.55), ("right shoulder", "right knee", 0.55),
    ("left knee", "right knee", 0.6), ("left foot", "right foot", 0.5), ("back", "left foot", 0.55),
    ("back", "right foot", 0.55), ("left elbow", "right elbow", 0.35), ("back", "left elbow", 0.6),
    ("back", "right elbow", 0.6),
)  # fmt: skip


def _chain(count: int) -> Ints:
    return np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)


def _number(value: int, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidInputError(f"{name}: expected a whole number of at least {least}, got {value!r}")
    return int(value)


def rope(
    start: npt.ArrayLike, end: npt.ArrayLike, count: int, *, mass: float = 1.0, radius: float | None = None,
    length: float | None = None, bend: float | None = None, **options: Any,
) -> Sticks:  # fmt: skip
    """A rope of `count` points from `start` to `end`.

    Parameters
    ----------
    start, end : (3,) metres
    count : points, 2 or more
    mass : kg of all of it
    radius : metres; None for a tenth of a stick
    length : metres of all sticks together, if not the distance of the ends; longer than that it sags
    bend : compliance, m/N, of sticks between every other point, which resist bending; None for a rope that does not
    options : of `Sticks`
    """
    count = _number(count, "count", 2)
    a, b = as_vector(start, "start"), as_vector(end, "end")
    points = a + np.linspace(0.0, 1.0, count)[:, None] * (b - a)
    far = float(np.linalg.norm(b - a))
    whole = far if length is None else as_positive(length, "length")
    own = whole / (count - 1)
    sticks, rest = _chain(count), np.full(count - 1, own)
    soft = np.zeros(count - 1)
    if bend is not None and count > 2:
        across = np.stack([np.arange(count - 2), np.arange(2, count)], axis=1)
        sticks, rest = np.concatenate([sticks, across]), np.append(rest, np.full(count - 2, 2.0 * own))
        soft = np.append(soft, np.full(count - 2, as_positive(bend, "bend")))
    thick = 2.0 * (0.1 * min(own, far / (count - 1)) if radius is None else as_positive(radius, "radius"))
    settings: dict[str, Any] = {
        "mass": as_positive(mass, "mass") / count, "rest": rest, "compliance": soft, "thickness": thick,
        "collide": np.arange(len(sticks)) < count - 1,
    }  # fmt: skip
    return Sticks(points, sticks, **(settings | options))


def cloth(
    shape: tuple[int, int], spacing: float, pose: PoseLike = None, *, density: float = 0.3, stretch: float = 0.0,
    shear: float | None = None, bend: float | None = None, thickness: float | None = None,
    tethers: Sequence[int] = (4, 16, 64), **options: Any,
) -> Sticks:  # fmt: skip
    """A sheet of rows x columns points in the plane z = 0 of a frame, its middle at the origin, columns along x. Point (row,
    column) has the index row * columns + column.

    Parameters
    ----------
    shape : rows and columns, 2 or more
    spacing : metres between neighbours
    pose : of the frame
    density : kg / m^2
    stretch, shear, bend : compliances, m/N, of sticks along the threads, across them, and between every other point. None for
        1e-5 and 1e-2; with `method="slides"`, whose springs need short steps, for 0 and no bending sticks; inf for none
    thickness : metres; None for a quarter of the spacing
    tethers : strings (sticks that only resist being longer) along the threads over so many spacings: no two points of a thread
        are farther apart than along it. They carry loads far in one iteration; without them a large sheet stretches
    options : of `Sticks`
    """
    slides = options.get("method") == "slides"
    shear = (0.0 if slides else 1e-5) if shear is None else shear
    bend = (np.inf if slides else 1e-2) if bend is None else bend
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        raise InvalidInputError(f"shape: expected (rows, columns), got {shape!r}")
    rows, columns = (_number(value, "shape", 2) for value in shape)
    apart = as_positive(spacing, "spacing")
    placed = as_poses(pose, "pose")
    if len(placed) != 1:
        raise InvalidInputError(f"pose: expected one pose, got {len(placed)}")
    v, u = np.divmod(np.arange(rows * columns), columns)
    flat = np.stack([(u - 0.5 * (columns - 1)) * apart, (v - 0.5 * (rows - 1)) * apart, np.zeros(len(u))], axis=1)
    points = flat @ placed[0, :9].reshape(3, 3).T + placed[0, 9:]
    at = np.arange(rows * columns).reshape(rows, columns)
    along = np.concatenate([_joined(at[:, :-1], at[:, 1:]), _joined(at[:-1], at[1:])])
    across = np.concatenate([_joined(at[:-1, :-1], at[1:, 1:]), _joined(at[:-1, 1:], at[1:, :-1])])
    sticks, soft = [along, across], [np.full(len(along), float(stretch)), np.full(len(across), float(shear))]
    if bend < np.inf:
        over = np.concatenate([_joined(at[:, :-2], at[:, 2:]), _joined(at[:-2], at[2:])])
        sticks.append(over)
        soft.append(np.full(len(over), float(bend)))
    modes = [np.zeros(sum(len(part) for part in sticks), np.int64)]
    for far in tethers:
        far = _number(far, "tethers", 2)
        # Each thread has them, so many that each point is below two.
        step = max(1, far // 2)
        strings = [_joined(at[:, :-far:step], at[:, far::step])] if columns > far else []
        strings += [_joined(at[:-far:step], at[far::step])] if rows > far else []
        for part in strings:
            sticks.append(part)
            soft.append(np.full(len(part), float(stretch)))
            modes.append(np.ones(len(part), np.int64))
    # Diagonals of the faces alternate, so that neither direction is stiffer.
    a, b, c, d = at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1]
    even = (np.add.outer(np.arange(rows - 1), np.arange(columns - 1)) % 2 == 0)[..., None]
    first = np.where(even, np.stack([a, b, c], axis=-1), np.stack([a, b, d], axis=-1))
    second = np.where(even, np.stack([a, c, d], axis=-1), np.stack([b, c, d], axis=-1))
    faces = np.stack([first, second], axis=2).reshape(-1, 3)
    settings: dict[str, Any] = {
        "mass": as_positive(density, "density") * apart * apart, "compliance": np.concatenate(soft), "faces": faces,
        "mode": np.concatenate(modes),
        "thickness": 0.25 * apart if thickness is None else thickness,
    }  # fmt: skip
    return Sticks(points, np.concatenate(sticks), **(settings | options))


def _joined(a: Ints, b: Ints) -> Ints:
    return np.stack([a.ravel(), b.ravel()], axis=1)


def rag_doll(pose: PoseLike = None, *, height: float = 1.8, mass: float = 75.0, **options: Any) -> Sticks:
    """A figure of sixteen points, as in [Slides] ("particle/stick configuration used in Hitman"): a rigid trunk, limbs of
    single sticks, and sticks that only resist being shorter where a joint has its limits. It stands at the origin of its frame.

    Parameters
    ----------
    pose : of the frame
    height, mass : metres, kg
    options : of `Sticks`; by default it does not meet itself, and its limbs are 0.12 of 1.8 m thick
    """
    scale = as_positive(height, "height") / 1.8
    placed = as_poses(pose, "pose")
    if len(placed) != 1:
        raise InvalidInputError(f"pose: expected one pose, got {len(placed)}")
    points = scale * np.array(list(DOLL.values())) @ placed[0, :9].reshape(3, 3).T + placed[0, 9:]
    index = {name: k for k, name in enumerate(DOLL)}
    bones = [(index[a], index[b]) for a, b in _DOLL_BONES]
    trunk = [(index[a], index[b]) for k, a in enumerate(_DOLL_TRUNK) for b in _DOLL_TRUNK[k + 1 :]]
    known = {frozenset(pair) for pair in bones}
    inner = [pair for pair in trunk if frozenset(pair) not in known]
    limits = [(index[a], index[b]) for a, b, _ in _DOLL_LIMITS]
    sticks = np.array(bones + inner + limits)
    far: Floats = np.linalg.norm(points[sticks[:, 1]] - points[sticks[:, 0]], axis=1)
    rigid = len(bones) + len(inner)
    far[rigid:] *= [part for _, _, part in _DOLL_LIMITS]
    share = np.array(_DOLL_MASS)
    settings: dict[str, Any] = {
        "mass": as_positive(mass, "mass") * share / share.sum(), "rest": far, "thickness": 0.12 * scale,
        "mode": np.where(np.arange(len(sticks)) < rigid, 0, -1), "collide": np.arange(len(sticks)) < len(bones),
        "self_collision": False, "iterations": 4,
    }  # fmt: skip
    return Sticks(points, sticks, **(settings | options))
