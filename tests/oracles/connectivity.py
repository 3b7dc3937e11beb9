"""Edges, places and defects of a mesh by NumPy's `unique`, which shares nothing with the kernels."""

from __future__ import annotations

import numpy as np


def same_places(vertices: np.ndarray) -> np.ndarray:
    """(V,) the first vertex in the same place."""
    _, first, inverse = np.unique(vertices + 0.0, axis=0, return_index=True, return_inverse=True)
    return first[inverse.reshape(-1)]


def edges(faces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """((E, 2) edges, sorted; triangles of each; how often more it is passed from the lower vertex than to it)."""
    directed = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    found, which, uses = np.unique(np.sort(directed, axis=1), axis=0, return_inverse=True, return_counts=True)
    balance = np.bincount(which.reshape(-1), np.where(directed[:, 0] < directed[:, 1], 1.0, -1.0), minlength=len(found))
    return found, uses, balance.astype(np.int64)


def problems(vertices: np.ndarray, faces: np.ndarray) -> dict[str, object]:
    """The fields of `MeshProblems`."""
    welded = same_places(vertices)[faces]
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    _, original = np.unique(np.sort(welded, axis=1), axis=0, return_index=True)
    proper = welded[(welded[:, 0] != welded[:, 1]) & (welded[:, 1] != welded[:, 2]) & (welded[:, 2] != welded[:, 0])]
    found, uses, balance = edges(proper)
    middle = vertices[faces].mean(axis=(0, 1))
    volume = np.einsum("ij,ij->", a - middle, np.cross(b - middle, c - middle))
    odd = uses % 2 == 1
    return {
        "degenerate": np.flatnonzero(~np.cross(b - a, c - a).any(axis=1)),
        "duplicate": np.setdiff1d(np.arange(len(faces)), original),
        "open_edges": found[odd],
        "nonmanifold_edges": found[uses > 2],
        "flipped_edges": found[~odd & (balance != 0)],
        "unused_vertices": np.setdiff1d(np.arange(len(vertices)), faces),
        "inverted": bool(not odd.any() and volume < 0.0),
    }


def part_count(faces: np.ndarray) -> int:
    """Connected parts of triangles that share vertices, one triangle after the other."""
    parts: list[set[int]] = []
    for face in faces.tolist():
        touching = [part for part in parts if not part.isdisjoint(face)]
        parts = [part for part in parts if part.isdisjoint(face)] + [set(face).union(*touching)]
    return len(parts)
