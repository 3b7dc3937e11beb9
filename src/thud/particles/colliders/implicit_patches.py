"""ImplicitPatches: piecewise polynomials in tetrahedra as colliders of particles, 5.2.1."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints, finite_array, whole_array
from thud.constants import MESH_COORDINATE
from thud.errors import InvalidInputError
from thud.gates import as_points
from thud.particles.colliders import bernstein
from thud.particles.colliders.field_collider import FieldCollider
from thud.particles.colliders.frame import widened
from thud.particles.colliders.tetrahedra import agreed, check_corners, shared_faces
from thud.particles.colliders.tolerances import PATCHES_CLEAR
from thud.particles.tolerances import LARGEST


@dataclass(frozen=True, eq=False, repr=False)
class ImplicitPatches(FieldCollider):
    """The surface f(p) = 0 of polynomials in tetrahedra, in Bernstein-Bezier form; f < 0 is inside.

    In each tetrahedron f = sum of d! / (i0! i1! i2! i3!) c l0^i0 l1^i1 l2^i2 l3^i3 over i0 + .. + i3 = d, l the barycentric
    coordinates: implicit surface patches, A-patches where signs of c make them single-sheeted (`single_sheeted`). World frame.

    Parameters
    ----------
    vertices : (V, 3) metres
    tetrahedra : (T, 4) rows of vertices, in any order round; they may share faces, edges and vertices, and must not overlap
    coefficients : (T, K) control values c, in the order of `control_indices(degree)`: 4 of degree 1, 10 of degree 2, 20 of
        degree 3, 35 and 56 of degrees 4 and 5. Tetrahedra with a common face have the same ones on it
    restitution, friction, material : see `Collider`

    The part of an impact is the tetrahedron. At the border of all tetrahedra the surface ends: a path that enters or leaves
    there hits nothing, on either side of f. Where f is 0 throughout a tetrahedron, a path from f > 0 to f < 0 hits where f
    becomes 0. Tetrahedra that touch without a common face need not agree: a change of sign between them is an impact.
    """

    vertices: npt.ArrayLike
    tetrahedra: npt.ArrayLike
    coefficients: npt.ArrayLike
    degree: int = field(init=False)
    """Of the polynomials."""

    def __repr__(self) -> str:
        return f"ImplicitPatches({len(np.asarray(self.tetrahedra))} tetrahedra of degree {self.degree})"

    def __post_init__(self) -> None:
        vertices = as_points(self.vertices, "vertices", least=4, limit=MESH_COORDINATE).copy()
        tetrahedra = whole_array(self.tetrahedra, "tetrahedra").copy()
        if tetrahedra.ndim == 1 and len(tetrahedra) == 4:
            tetrahedra = tetrahedra[None]
        if tetrahedra.ndim != 2 or tetrahedra.shape[1] != 4 or not len(tetrahedra):
            raise InvalidInputError(f"tetrahedra: expected (T, 4) rows of vertices, at least one, got shape {tetrahedra.shape}")
        check_corners(vertices, tetrahedra)
        coefficients = finite_array(self.coefficients, "coefficients", limit=LARGEST).copy()
        if coefficients.ndim == 1 and len(tetrahedra) == 1:
            coefficients = coefficients[None]
        degree = bernstein.degree_of(coefficients.shape[1]) if coefficients.ndim == 2 else 0
        if not degree or len(coefficients) != len(tetrahedra):
            raise InvalidInputError(
                f"coefficients: expected one row a tetrahedron ({len(tetrahedra)}) of {', '.join(map(str, bernstein.COUNTS))} "
                f"control values, for degrees 1 to {len(bernstein.COUNTS)}; got shape {coefficients.shape}"
            )
        coefficients = agreed(coefficients, tetrahedra, shared_faces(vertices, tetrahedra), degree)
        for name, value in (("vertices", vertices), ("tetrahedra", tetrahedra), ("coefficients", coefficients)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        object.__setattr__(self, "degree", degree)
        self.check_response()

    @staticmethod
    def control_indices(degree: int) -> Ints:
        """(K, 4) exponents i0 .. i3 of each control value, in their order: (d, 0, 0, 0) first, falling."""
        return bernstein.indices(bernstein.checked_degree(degree)).copy()

    @classmethod
    def from_field(
        cls,
        field: Any,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        cell: float,
        *,
        degree: int = 2,
        **response: Any,
    ) -> ImplicitPatches:
        """Patches that agree with a field, negative inside, at the control points of six tetrahedra a cell of a grid.

        Continuous by construction; off the field by about the (degree + 1)th power of the cell where it is smooth.

        Parameters
        ----------
        field : callable from points (N, 3) to (N,); or a `thud.terrain.GridField`. Of a closed mesh for example
            `lambda p: thud.closest_point(mesh, p, signed=True).distance`
        lower, upper : (3,) corners of the domain, metres; the upper one is moved out to whole cells
        cell : metres a side
        degree : 1 to 5
        response : restitution, friction, material: see `Collider`
        """
        from thud.particles.colliders.field_patches import patches_of_field

        vertices, tetrahedra, coefficients = patches_of_field(field, lower, upper, cell, bernstein.checked_degree(degree))
        return cls(vertices, tetrahedra, coefficients, **response)

    @property
    def control_points(self) -> Floats:
        """(T, K, 3) where each control value belongs, metres: the mean of the vertices by its exponents."""
        weights = bernstein.indices(self.degree) / self.degree
        return np.einsum("ki,tix->tkx", weights, np.asarray(self.vertices)[np.asarray(self.tetrahedra)])

    @property
    def single_sheeted(self) -> Bools:
        """(T,) whether signs of control values prove that lines from a vertex, or between two opposite edges, cross the surface
        once at most: three- and four-sided A-patches (Bajaj, Chen and Xu 1995). True also where there is no surface."""
        return bernstein.single_sheeted(np.asarray(self.coefficients), self.degree)

    @cached_property
    def _active(self) -> Ints:
        """(A,) tetrahedra whose control values do not all have one sign, well away from 0: the others hold no surface."""
        values = np.asarray(self.coefficients)
        clear = PATCHES_CLEAR * np.abs(values).max(axis=1, keepdims=True)
        return np.flatnonzero(~((values > clear).all(axis=1) | (values < -clear).all(axis=1)))

    @cached_property
    def _inverses(self) -> Floats:
        """(T, 3, 3) from p - first vertex to (l1, l2, l3)."""
        corners = np.asarray(self.vertices)[np.asarray(self.tetrahedra)]
        return np.linalg.inv((corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1))

    @cached_property
    def _tree(self) -> tuple[Floats, Ints, Ints]:
        from thud.bvh.morton_tree import build_morton_tree

        return build_morton_tree(self._boxes(np.arange(len(np.asarray(self.tetrahedra)))))

    def _boxes(self, chosen: Ints) -> Floats:
        """(M, 6) of tetrahedra, wider by roundoff."""
        corners = np.asarray(self.vertices)[np.asarray(self.tetrahedra)[chosen]]
        slack = 4.0 * np.finfo(float).eps * np.abs(corners).max(initial=0.0)
        return np.ascontiguousarray(np.concatenate([corners.min(axis=1) - slack, corners.max(axis=1) + slack], axis=1))

    def _barycentric(self, rows: Ints, points: Floats) -> Floats:
        """(M, 4) coordinates of points in tetrahedra."""
        first = np.asarray(self.vertices)[np.asarray(self.tetrahedra)[rows, 0]]
        inner = np.einsum("mij,mj->mi", self._inverses[rows], points - first)
        return np.concatenate([1.0 - inner.sum(axis=1, keepdims=True), inner], axis=1)

    def value(self, points: npt.ArrayLike) -> Floats:
        """(N,) f at (N, 3) points in metres; negative inside, NaN outside of all tetrahedra."""
        from thud.bvh.morton_tree import boxes_in_tree

        p = as_points(points, "points")
        out = np.full(len(p), np.nan)
        places, rows = boxes_in_tree(self._tree, np.concatenate([p, p], axis=1))
        which = np.repeat(np.arange(len(p)), np.diff(places))
        inner = self._barycentric(rows, p[which])
        # On a common face the lowest row counts.
        near = np.flatnonzero(inner.min(axis=1, initial=np.inf) >= -64.0 * np.finfo(float).eps * np.abs(inner).max(initial=1.0))
        near = near[np.lexsort((rows[near], which[near]))]
        first = near[np.unique(which[near], return_index=True)[1]]
        out[which[first]] = bernstein.values(np.asarray(self.coefficients)[rows[first]], inner[first], self.degree)
        return out

    def _inward(self, points: Floats) -> Floats:
        value = self.value(points)
        # Beyond the tetrahedra it is outside: a mesh is closed there.
        return np.where(np.isnan(value), float(np.abs(np.asarray(self.coefficients)).mean()) or 1.0, value)

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """See `FieldCollider`."""
        from thud._core.threads import run_rows
        from thud.bvh.morton_tree import build_morton_tree
        from thud.particles.crossings.path_field import TETRAHEDRA
        from thud.particles.crossings.tetrahedron_field import TETRAHEDRON, tetrahedron_rows, work_size

        chosen = self._active
        vertices, tetrahedra = np.array(self.vertices), np.array(self.tetrahedra)
        values, rows = np.ascontiguousarray(np.asarray(self.coefficients)[chosen]), np.empty((len(chosen), TETRAHEDRON))
        run_rows(tetrahedron_rows, len(chosen), None, vertices, tetrahedra, values, chosen, rows)
        boxes, skip, item = build_morton_tree(self._boxes(chosen))
        reach = float(np.abs(vertices).max())
        return TETRAHEDRA, rows, values, boxes, skip, item, 0.0, reach, work_size(self.degree)

    def box(self) -> Floats:
        """(6,) lower and upper corner of the tetrahedra that may hold some of the surface (of all, if none does), metres."""
        return self._box_of(self._active)

    def _box_of(self, chosen: Ints) -> Floats:
        chosen = chosen if len(chosen) else np.arange(len(np.asarray(self.tetrahedra)))
        corners = np.asarray(self.vertices)[np.asarray(self.tetrahedra)[chosen]].reshape(-1, 3)
        return widened(corners.min(axis=0), corners.max(axis=0))

    def _mesh_box(self) -> Floats:
        # All of the inside: what is open is closed at the border.
        return self._box_of(np.flatnonzero((np.asarray(self.coefficients) < 0.0).any(axis=1)))

    def earliest(
        self, rows: int, place: int, paths: Any, came: Any, last: Any, time: Any, hit: Any, normal: Any, status: Any
    ) -> None:
        """Improve the earliest crossing of each of the first rows (see `flights.py`); `place` is the collider's."""
        if len(self._active):
            super().earliest(rows, place, paths, came, last, time, hit, normal, status)
