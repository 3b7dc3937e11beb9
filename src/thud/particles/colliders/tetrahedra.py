"""Checks of tetrahedra that hold polynomials: none is flat, no face is common to more than two, common faces agree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.particles.colliders import bernstein
from thud.particles.colliders.tolerances import PATCHES_JUMP, TETRAHEDRON_FLAT


class SharedFaces(NamedTuple):
    """Faces that two tetrahedra have in common."""

    rows: Ints
    """(P, 2) tetrahedra."""
    corners: Ints
    """(P, 2, 3) which of each one's vertices the face has, in the same order."""


def check_corners(vertices: Floats, tetrahedra: Ints) -> None:
    """Named error for rows that are no vertices, and for flat tetrahedra."""
    outside = ((tetrahedra < 0) | (tetrahedra >= len(vertices))).any(axis=1)
    if outside.any():
        row = int(np.argmax(outside))
        raise InvalidInputError(
            f"tetrahedra: row {row} is {tetrahedra[row].tolist()}; expected rows of vertices from 0 to {len(vertices) - 1}"
        )
    edges = vertices[tetrahedra[:, 1:]] - vertices[tetrahedra[:, :1]]
    longest = np.sqrt((edges**2).sum(axis=2)).max(axis=1)
    unit = edges / np.where(longest > 0.0, longest, 1.0)[:, None, None]
    flat = ~(np.abs(np.linalg.det(unit)) > TETRAHEDRON_FLAT)
    if flat.any():
        raise InvalidInputError(
            f"tetrahedra: row {int(np.argmax(flat))} is flat; expected four vertices that are not in one plane (leave it out)"
        )


def shared_faces(vertices: Floats, tetrahedra: Ints) -> SharedFaces:
    """The faces that two tetrahedra have in common; named error where three have one, or two lie on one side of it."""
    count = len(tetrahedra)
    corners = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])
    faces = tetrahedra[:, corners].reshape(-1, 3)
    turn = np.argsort(faces, axis=1)
    faces = np.take_along_axis(faces, turn, axis=1)
    order = np.lexsort(faces.T[::-1])
    same = (faces[order[1:]] == faces[order[:-1]]).all(axis=1)
    thrice = np.flatnonzero(same[1:] & same[:-1])
    if len(thrice):
        rows = np.sort(order[thrice[0] : thrice[0] + 3] // 4)
        raise InvalidInputError(
            f"tetrahedra: rows {', '.join(map(str, rows.tolist()))} have one face in common, vertices "
            f"{faces[order[thrice[0]]].tolist()}; expected two at most: they overlap"
        )
    first = np.flatnonzero(same)
    pair = np.stack([order[first], order[first + 1]], axis=1)
    pair.sort(axis=1)
    rows, opposite = pair // 4, pair % 4
    local = np.take_along_axis(corners[np.tile(np.arange(4), count)], turn, axis=1)[pair]
    # On which side of the face each one's fourth vertex is.
    base = vertices[np.take_along_axis(tetrahedra[rows], local, axis=2)]
    apex = vertices[np.take_along_axis(tetrahedra[rows], opposite[:, :, None], axis=2)[:, :, 0]]
    edges = np.concatenate([base[:, :, 1:] - base[:, :, :1], (apex - base[:, :, 0])[:, :, None]], axis=2)
    side = np.linalg.det(edges / np.abs(edges).max(axis=(2, 3), keepdims=True, initial=1e-300))
    folded = (side[:, 0] > 0.0) == (side[:, 1] > 0.0)
    if folded.any():
        a, b = rows[int(np.argmax(folded))].tolist()
        raise InvalidInputError(f"tetrahedra: rows {a} and {b} lie on the same side of their common face: they overlap")
    return SharedFaces(rows, local)


def agreed(control: Floats, tetrahedra: Ints, shared: SharedFaces, degree: int) -> Floats:
    """Control values that are the very same on both sides of common faces; named error where they were not within roundoff."""
    if not len(shared.rows):
        return control
    inner = bernstein.indices(degree)
    # Exponents of the face's control values by its own three vertices.
    on_face = inner[inner[:, 3] == 0][:, :3]
    exponents = np.zeros((*shared.rows.shape, len(on_face), 4), np.int64)
    for i in range(3):
        np.put_along_axis(exponents, shared.corners[:, :, None, i, None], on_face[None, None, :, i, None], axis=3)
    place = bernstein.places(exponents)
    both = np.take_along_axis(control[shared.rows], place, axis=2)
    jump = np.abs(both[:, 0] - both[:, 1]).max(axis=1)
    most = np.abs(control).max(axis=1)[shared.rows].max(axis=1)
    if (jump > PATCHES_JUMP * most).any():
        p = int(np.argmax(jump > PATCHES_JUMP * most))
        (a, b), face = shared.rows[p].tolist(), tetrahedra[shared.rows[p, 0], shared.corners[p, 0]].tolist()
        raise InvalidInputError(
            f"coefficients: rows {a} and {b} differ by {jump[p]:g} on the common face of vertices {face}, where f would jump; "
            "give both the same control values there (`control_points` says where each belongs)"
        )
    if not (jump > 0.0).any():
        return control
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = control.size
    node = shared.rows[:, :, None] * control.shape[1] + place
    one, other = node[:, 0].ravel(), node[:, 1].ravel()
    graph = coo_array((np.ones(len(one), np.int8), (one, other)), shape=(size, size))
    label = connected_components(graph, directed=False)[1]
    first = np.unique(label, return_index=True)[1]
    return np.ascontiguousarray(control.ravel()[first[label]].reshape(control.shape))
