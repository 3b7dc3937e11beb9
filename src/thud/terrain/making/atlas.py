"""The atlas: quads of one side packed into a map, and names for the nodes that neighbours in space share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints


@dataclass(frozen=True)
class Atlas:
    """Where Q quads of `side` squares lie in a nearly square map, (side + 1)^2 nodes each."""

    quads: Ints
    """(Q, 3) s, t, side."""
    shape: tuple[int, int]
    """Rows t and columns s of the map."""

    @classmethod
    def pack(cls, count: int, side: int) -> Atlas:
        """Row after row."""
        columns = int(np.ceil(np.sqrt(count)))
        rows = -(-count // columns)
        k = np.arange(count)
        quads = np.column_stack([(side + 1) * (k % columns), (side + 1) * (k // columns), np.full(count, side)])
        return cls(quads, ((side + 1) * rows, (side + 1) * columns))

    @property
    def side(self) -> int:
        """Squares a side of each quad."""
        return int(self.quads[0, 2])

    def corners(self) -> Ints:
        """(Q, 4, 2) places s, t of corners: (0, 0), (1, 0), (1, 1), (0, 1)."""
        return self.quads[:, None, :2] + self.side * np.array([[0, 0], [1, 0], [1, 1], [0, 1]])

    def fill(self, lengths: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """The map of (Q, m, m) lengths."""
        m = self.side + 1
        rows, columns = self.shape[0] // m, self.shape[1] // m
        whole = np.zeros((rows * columns, m, m), dtype=np.float32)
        whole[: len(lengths)] = lengths
        return np.ascontiguousarray(whole.reshape(rows, columns, m, m).transpose(0, 2, 1, 3).reshape(self.shape))


class SharedNodes:
    """Names of nodes on the borders of quads: one for each vertex of the base mesh and for each node inside an edge, the same
    from whichever quad it is seen."""

    def __init__(self, quads: Ints, side: int) -> None:
        self.side, self._quads = side, quads
        ends = np.stack([quads, np.roll(quads, -1, axis=1)], axis=2)
        self._forwards = ends[:, :, 0] < ends[:, :, 1]
        vertices = int(quads.max()) + 1
        key = np.sort(ends, axis=2) @ np.array([vertices, 1])
        unique, edge = np.unique(key, return_inverse=True)
        self._edge = vertices + edge.reshape(-1, 4) * (side - 1)
        self.count = vertices + len(unique) * (side - 1)

    def names(self, rows: Ints) -> Ints:
        """(B, m, m) indexed [t, s]; -1 inside the quads."""
        m, side = self.side + 1, self.side
        out = np.full((len(rows), m, m), -1, dtype=np.int64)
        quads = self._quads[rows]
        for k, (t, s) in enumerate(((0, 0), (0, side), (side, side), (side, 0))):
            out[:, t, s] = quads[:, k]
        along = np.arange(side - 1)
        forwards = self._forwards[rows]
        inner = slice(1, side)
        for k, target in enumerate((out[:, 0, inner], out[:, inner, side], out[:, side, inner], out[:, inner, 0])):
            name = self._edge[rows, k][:, None] + np.where(forwards[:, k, None], along, along[::-1])
            # The third and the fourth edge run against s and t.
            target[...] = name if k < 2 else name[:, ::-1]
        return out
