"""The index of a surface as bytes: used in place, the same answers; what is wrong with it is named."""

from __future__ import annotations

import mmap
import pickle
import struct
from dataclasses import replace

import numpy as np
import pytest

import thud
from tests.oracles.displaced import grid_surface
from thud.errors import FileFormatError
from thud.terrain.surface_index import SurfaceIndex, _digest, index_to_bytes

#: Indices changed at random that are refused or answer.
FORGED = 150


def surface_and_bytes(seed=1, **options):
    surface = grid_surface(np.random.default_rng(seed), quads=(3, 2), side=8, **options)
    return surface, surface.index_bytes()


def fresh(surface):
    """The same surface without an index."""
    return replace(surface)


def said(surface):
    """Bytes of what the surface answers."""
    poses = np.column_stack([np.random.default_rng(2).uniform(0, 30, (40, 3)), np.tile([1.0, 0, 0, 0], (40, 1))])
    box = thud.Box((1.0, 2.0, 0.7))
    near = thud.distance(surface, box, None, poses)
    touches = thud.contacts(surface, box, None, poses, margin=0.1)
    rays = thud.raycast(surface, poses[:, :3] + [0, 0, 50.0], [0.1, 0.05, -1.0])
    found = (thud.intersects(surface, box, None, poses), near.distance, touches.point, touches.depth, rays.distance)
    return [np.asarray(array).tobytes() for array in found]


@pytest.mark.parametrize("thickness", [None, 3.0])
def test_a_mapped_index_is_used_in_place_and_answers_alike(tmp_path, thickness):
    made, data = surface_and_bytes(thickness=thickness)
    wanted = said(made)
    (tmp_path / "index").write_bytes(data)
    with open(tmp_path / "index", "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    bare = fresh(made)
    assert not bare.has_index
    surface = bare.with_index(mapped)
    assert surface.has_index
    assert not bare.has_index
    whole = np.frombuffer(mapped, np.uint8)
    for array in surface._index:
        assert array.size == 0 or np.shares_memory(array, whole)
    assert said(surface) == wanted
    assert surface.index_bytes() == data
    # Public views are not to be written to: the memory below them may be read-only.
    maps = surface.bounding_maps()
    assert not maps.lengths.flags.writeable
    assert not surface.bounding_planes.flags.writeable
    # Bytes that begin anywhere are copied.
    shifted = memoryview(b"x" + data)[1:]
    assert said(bare.with_index(shifted)) == wanted


def test_pickles_keep_the_index():
    surface, data = surface_and_bytes()
    again = pickle.loads(pickle.dumps(surface))
    assert again.has_index
    assert again.index_bytes() == data
    assert said(again) == said(surface)
    assert not pickle.loads(pickle.dumps(fresh(surface))).has_index


def held_bytes(surface):
    """Of all arrays that a surface refers to, each memory once."""
    seen, total, pending = set(), 0, list(surface.__dict__.values())
    while pending:
        one = pending.pop()
        if isinstance(one, (tuple, list)):
            pending += list(one)
        elif isinstance(one, np.ndarray):
            while isinstance(one.base, np.ndarray):
                one = one.base
            if id(one) not in seen:
                seen.add(id(one))
                total += one.nbytes
    return total


def test_nbytes_counts_all_that_is_held():
    # The map was held twice, and counted once.
    surface, _ = surface_and_bytes()
    said(surface)
    assert surface.nbytes == held_bytes(surface)
    assert np.shares_memory(surface.displacements, surface.arrays.displacements)


def test_other_bytes_are_named():
    surface, data = surface_and_bytes()
    bare = fresh(surface)
    other, _ = surface_and_bytes(seed=7)
    deeper = replace(surface, thickness=1.0)
    for stranger in (other, deeper):
        with pytest.raises(FileFormatError, match="made for another surface"):
            stranger.with_index(data)
    with pytest.raises(FileFormatError, match="version 9; this thud reads version 1"):
        bare.with_index(data[:8] + struct.pack("<I", 9) + data[12:])
    for wrong in (b"", data[:40], b"PK" + data[2:]):
        with pytest.raises(FileFormatError, match="do not begin as an index"):
            bare.with_index(wrong)
    for wrong in (data[:-64], data + bytes(64), data[: len(data) // 2]):
        with pytest.raises(FileFormatError, match="bytes"):
            bare.with_index(wrong)
    with pytest.raises(FileFormatError, match="expected bytes, got str"):
        bare.with_index("index")
    for at in range(64, len(data), 97):
        with pytest.raises(FileFormatError, match="index: "):
            bare.with_index(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])


def sealed(data):
    """Changed bytes with a digest that fits."""
    return data[:48] + _digest(np.frombuffer(data[64:], np.uint8)) + data[64:]


def test_offsets_and_counts_outside_are_named():
    surface, data = surface_and_bytes()
    bare = fresh(surface)
    for section in range(9):
        for column in range(2):
            at = 64 + 16 * section + 8 * column
            for value in (0, 8, len(data), 2**31, 2**63, 2**64 - 8):
                wrong = sealed(data[:at] + struct.pack("<Q", value) + data[at + 8 :])
                if wrong != data:
                    with pytest.raises(FileFormatError, match="index: "):
                        bare.with_index(wrong)


def changed(index, name, place, value):
    array = getattr(index, name).copy()
    array[place] = value
    return index._replace(**{name: array})


FORGERIES = [
    ("planes", (3, 0), np.nan, "planes has a value that is not finite"),
    ("node_boxes", (0, 4), np.inf, "node_boxes has a value that is not finite"),
    ("lengths", 5, np.nan, "lengths has a value that is not finite"),
    ("box", 1, -np.inf, "box has a value that is not finite"),
    ("planes", (0, 4), 1e9, "lower plane or side of a box"),
    ("node_boxes", (1, 0), 1e9, "lower plane or side of a box"),
    ("map_ints", (2, 0), 10**12, "map_ints are not the offsets"),
    ("map_ints", (2, 2), 4, "map_ints are not the offsets"),
    ("node_ints", (0, 0), 10**6, "skips out of range"),
    ("node_ints", (2, 0), 1, "skips out of range"),
    ("node_ints", (0, 1), 3, "leaves of the tree are not the primitives"),
    ("node_ints", (slice(None), 1), 0, "leaves of the tree are not the primitives"),
    ("flat", 0, 3, "flat skips more levels"),
    ("flat", -1, 1, "flat skips more levels"),
]


@pytest.mark.parametrize(("name", "place", "value", "message"), FORGERIES)
def test_forged_numbers_are_named(name, place, value, message):
    surface, _ = surface_and_bytes()
    wrong = index_to_bytes(changed(surface._index, name, place, value), surface.index_basis)
    with pytest.raises(FileFormatError, match=message):
        fresh(surface).with_index(wrong)


def test_a_tree_like_a_chain_is_refused():
    # Walks have stacks of 192 rows: a chain of 300 levels would have overrun them.
    count = 300
    surface = thud.terrain.from_heights(np.zeros((2, count // 2 + 1)), 1.0, samples=1).surface
    index = surface._index
    skip, item = [], []
    for k in range(count - 1):
        skip += [2 * count - 1, 2 * k + 2]
        item += [-1, k]
    chain = np.column_stack([[*skip, 2 * count - 1], [*item, count - 1]]).astype(np.int32)
    wrong = index_to_bytes(index._replace(node_ints=chain), surface.index_basis)
    with pytest.raises(FileFormatError, match="more than 128 levels"):
        fresh(surface).with_index(wrong)


def test_forged_indices_are_refused_or_answer():
    surface, _ = surface_and_bytes()
    bare, rng = fresh(surface), np.random.default_rng(3)
    answered = 0
    for _ in range(FORGED):
        name = SurfaceIndex._fields[int(rng.integers(len(SurfaceIndex._fields)))]
        array = getattr(surface._index, name).copy()
        if array.size == 0:
            continue
        raw = array.reshape(-1).view(np.uint8)
        raw[int(rng.integers(len(raw)))] ^= np.uint8(1 << int(rng.integers(8)))
        try:
            forged = bare.with_index(index_to_bytes(surface._index._replace(**{name: array}), surface.index_basis))
        except FileFormatError:
            continue
        said(forged)
        answered += 1
    assert answered > FORGED // 10
