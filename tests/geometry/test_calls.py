"""What all public functions share: broadcasting, threads, one specialisation, errors that name the argument, lazy import."""

import dataclasses
import re
import subprocess
import sys

import numpy as np
import pytest

from tests.oracles import geometry as oracle
from thud import geometry
from thud._core.decorators import REGISTRY, resolve_signature
from thud.errors import InvalidInputError, InvalidPoseError, ThudError

CUBE = oracle.voxel_mesh([(0, 0, 0)], np.random.default_rng(50))


def sample(name, rng, n):
    """Arguments of the function, by name, each with n rows (but for a mesh, which is one)."""

    def rows(*shape):
        return rng.normal(size=(n, *shape))

    def lengths():
        return rng.uniform(0.5, 2, n)

    rays = {"origins": rows(3) * 3, "directions": rows(3)}
    corners = {"lower": -rng.uniform(0, 2, (n, 3)), "upper": rng.uniform(0, 2, (n, 3))}
    boxes = {"centers": rows(3), "half_extents": rng.uniform(0.3, 1, (n, 3)), "rotations": oracle.random_rotations(rng, n)}
    boxes_ab = {f"{key}_{side}": value + 0.0 for side in "ab" for key, value in boxes.items()}
    poses = np.zeros((n, 4, 4))
    poses[:, :3, :3], poses[:, :3, 3], poses[:, 3, 3] = oracle.random_rotations(rng, n), rows(3), 1.0
    round_ = {**rays, "radius": lengths(), "half_length": lengths(), "pose": poses}
    segment = {"starts": rows(3), "ends": rows(3)}
    mesh = {"vertices": CUBE[0], "faces": CUBE[1]}
    polygon = np.tile([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]], (n, 1, 1)) + rows(1, 2)
    spheres = {"centers": rows(3), "radii": lengths()}
    arguments = {
        "point_plane": {"points": rows(3), "planes": rows(4)},
        "sphere_plane": {**spheres, "planes": rows(4)},
        "sphere_plane_distance": {**spheres, "planes": rows(4)},
        "sphere_frustum": {**spheres, "planes": rows(5, 4)},
        "box_frustum": {**corners, "planes": rows(5, 4)},
        "point_in_sphere": {"points": rows(3), **spheres},
        "point_in_aabb": {"points": rows(3), **corners},
        "point_in_obb": {"points": rows(3), **boxes},
        "point_in_convex_polygon": {"points": rows(2), "polygons": polygon},
        "point_in_polygon": {"points": rows(2), "polygons": rows(7, 2)},
        "point_in_convex": {"points": rows(3), "planes": rows(4, 4)},
        "point_in_mesh": {"points": rows(3), **mesh},
        "ray_plane": {**rays, "planes": rows(4)},
        "ray_triangle": {**rays, "triangles": rows(3, 3)},
        "ray_aabb": {**rays, **corners},
        "ray_obb": {**rays, **boxes},
        "ray_sphere": {**rays, **spheres},
        "ray_capsule": round_,
        "ray_cylinder": round_,
        "ray_cone": round_,
        "ray_ellipsoid": {**rays, "radii": rng.uniform(0.5, 2, (n, 3)), "pose": poses},
        "ray_convex": {**rays, "planes": rows(5, 4)},
        "ray_mesh": {**rays, **mesh},
        "ray_mesh_all": {**rays, **mesh},
        "moving_sphere_sphere": {
            **{f"{key}_{side}": value for side in "ab" for key, value in (("center", rows(3) * 3), ("motion", rows(3) * 4))},
            "radius_a": lengths(),
            "radius_b": lengths(),
        },
        "segment_segment": {f"{key}_{side}": rows(2) for side in "ab" for key in ("starts", "ends")},
        "segment_triangle": {**segment, "triangles": rows(3, 3)},
        "triangle_triangle": {"triangles_a": rows(3, 3), "triangles_b": rows(3, 3)},
        "rectangle_triangle": {key: value[:, :2] for key, value in corners.items()} | {"triangles": rows(3, 2)},
        "closest_point_segment": {"points": rows(3), **segment},
        "closest_point_triangle": {"points": rows(3), "triangles": rows(3, 3)},
        "closest_point_box": {"points": rows(3), **boxes},
        "closest_segment_segment": {f"{key}_{side}": rows(3) for side in "ab" for key in ("starts", "ends")},
        "closest_segment_triangle": {**segment, "triangles": rows(3, 3)},
        "closest_segment_box": {**segment, **boxes},
        "closest_triangle_triangle": {"triangles_a": rows(3, 3), "triangles_b": rows(3, 3)},
        "closest_triangle_box": {"triangles": rows(3, 3), **boxes},
        "closest_box_box": boxes_ab | {"centers_b": rows(3) * 3},
    }
    return arguments[name]


#: `frustum_planes` and `camera_rays` are of one view and take no rows.
FUNCTIONS = [name for name in geometry.__all__ if name[0].islower() and name not in ("camera_rays", "frustum_planes")]
MESH = {"vertices", "faces"}


def fields(result):
    """The arrays of a result."""
    if dataclasses.is_dataclass(result):
        return [getattr(result, f.name) for f in dataclasses.fields(result)]
    return [result]


def call(name, arguments, **options):
    return fields(getattr(geometry, name)(**arguments, **options))


def same(a, b):
    return all(x.dtype == y.dtype and x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_row_against_many(name):
    n = 7
    arguments = sample(name, np.random.default_rng(51), n)
    batched = arguments.keys() - MESH
    for chosen in batched if len(batched) > 1 else ():
        # One row of this argument against N of the others, with and without its leading axis, is N equal rows.
        one = arguments[chosen][2:3]
        repeated = call(name, arguments | {chosen: np.repeat(one, n, axis=0)})
        assert same(call(name, arguments | {chosen: one}), repeated)
        assert same(call(name, arguments | {chosen: one[0]}), repeated)
    # Row by row is the batch.
    if name != "ray_mesh_all":
        whole = call(name, arguments)
        for i in range(n):
            single = call(name, {key: value if key in MESH else value[i] for key, value in arguments.items()})
            assert same([x[i : i + 1] for x in whole], single)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_number_of_threads_gives_the_same_bytes(name):
    arguments = sample(name, np.random.default_rng(52), 1500)
    one = call(name, arguments, threads=1)
    assert same(one, call(name, arguments, threads=2))
    assert same(one, call(name, arguments))
    for array in one:
        assert not np.isnan(array).any()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_input_is_named(name):
    rng = np.random.default_rng(53)
    n = 5
    arguments = sample(name, rng, n)
    function = getattr(geometry, name)
    for chosen in arguments.keys() - {"faces"}:
        wrong = np.array(arguments[chosen], dtype=np.float64)
        wrong.reshape(len(wrong), -1)[3, 0] = np.nan
        with pytest.raises(InvalidInputError, match=rf"{chosen}: row 3 is not finite"):
            function(**arguments | {chosen: wrong})
        with pytest.raises(InvalidInputError, match=f"{chosen}: expected"):
            function(**arguments | {chosen: np.zeros((n, 9, 9, 9))})
        with pytest.raises(InvalidInputError, match=f"{chosen}: expected numbers"):
            function(**arguments | {chosen: "abc"})
    for chosen in arguments.keys() - MESH:
        if len(arguments.keys() - MESH) == 1:
            found = function(**arguments | {chosen: arguments[chosen][:0]})
            assert len(found if isinstance(found, np.ndarray) else getattr(found, dataclasses.fields(found)[0].name)) == 0
        else:
            with pytest.raises(ThudError, match="expected"):
                function(**arguments | {chosen: arguments[chosen][:0]})
            with pytest.raises(InvalidInputError, match=r"expected equal numbers of rows or one, got \["):
                function(**arguments | {chosen: arguments[chosen][:3]})
    with pytest.raises(InvalidInputError, match="threads: expected a whole number of at least 1"):
        function(**arguments, threads=0)


def test_values_out_of_range():
    cases = [
        ("point_in_sphere", {"points": [0, 0, 1e80], "centers": [0, 0, 0], "radii": 1}, "points: row 0 is beyond the limit"),
        (
            "point_in_sphere",
            {"points": [0, 0, 0], "centers": [0, 0, 0], "radii": [1, -1]},
            r"radii: row 1 is \[-1.0\]; expected at least 0",
        ),
        (
            "ray_cone",
            {"origins": [0, 0, 5], "directions": [0, 0, 1], "radius": 0, "half_length": 1},
            "radius: row 0 .* expected positive",
        ),
        (
            "ray_sphere",
            {"origins": [0, 0, 5], "directions": [0, 0, 0], "centers": [0, 0, 0], "radii": 1},
            "directions: row 0 is zero",
        ),
        ("point_plane", {"points": [0, 0, 0], "planes": [[0, 0, 1, 0], [0, 0, 0, 1]]}, "planes: plane 1 has the normal 0"),
        (
            "point_in_aabb",
            {"points": [0, 0, 0], "lower": [[0, 0, 0], [1, 1, 1]], "upper": [0, 1, 1]},
            "row 1 has a lower corner above",
        ),
        ("point_in_polygon", {"points": [0, 0], "polygons": [[0, 0], [1, 1]]}, r"polygons: expected shape \(K, 2\)"),
        (
            "point_in_polygon",
            {"points": [0, 0, 0], "polygons": [[0, 0, 0], [1, 1, 0], [2, 2, 0]]},
            "polygons: row 0 has no area",
        ),
        (
            "point_in_polygon",
            {"points": [0, 0], "polygons": [[0, 0], [1, 1], [2, 0]], "normals": [0, 0, 1]},
            "normals: given for polygons of the plane",
        ),
        (
            "closest_point_triangle",
            {"points": [0, 0, 0], "triangles": np.zeros((2, 4, 3))},
            r"triangles: expected shape \(3, 3\)",
        ),
        (
            "point_in_mesh",
            {"points": [0, 0, 0], "vertices": CUBE[0], "faces": [[0, 1, 99]]},
            r"faces: row 0 is \[0, 1, 99\]; expected indices from 0 to 7",
        ),
        (
            "ray_mesh",
            {"origins": [0, 0, 0], "directions": [1, 0, 0], "vertices": CUBE[0], "faces": [[0.5, 1, 2]]},
            "faces: expected whole numbers",
        ),
        (
            "ray_mesh",
            {"origins": [0, 0, 0], "directions": [1, 0, 0], "vertices": CUBE[0], "faces": np.zeros((0, 3), int)},
            "faces: expected shape",
        ),
    ]
    for name, arguments, message in cases:
        with pytest.raises(InvalidInputError, match=message):
            getattr(geometry, name)(**arguments)
    with pytest.raises(InvalidPoseError, match="rotations: row 0 is not a rigid motion"):
        geometry.point_in_obb([0, 0, 0], [0, 0, 0], [1, 1, 1], np.eye(3) * 2)


def test_large_and_small_coordinates_make_no_nan():
    for name in FUNCTIONS:
        for scale in (1e-70, 1e70):
            arguments = sample(name, np.random.default_rng(54), 20)
            scaled = {
                key: value
                if key in {"directions", "faces", "rotations", "rotations_a", "rotations_b", "pose"}
                else value * scale
                for key, value in arguments.items()
            }
            for array in call(name, scaled):
                assert not np.isnan(array).any(), name


def test_read_only_and_strided_input():
    points = np.zeros((6, 6))[:, ::2]
    points.flags.writeable = False
    assert geometry.point_in_sphere(points, [0, 0, 0], 1).all()
    assert geometry.point_in_mesh(points, CUBE[0].astype(np.float32), CUBE[1].astype(np.int32)).all()


def test_every_kernel_has_one_specialisation():
    for name in FUNCTIONS:
        call(name, sample(name, np.random.default_rng(55), 3))
    geometry.point_in_convex_polygon([0, 0, 0], [[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    kernels = {key: value for key, value in REGISTRY.items() if key.startswith("thud.geometry.")}
    assert len(kernels) > 15
    for key, (dispatcher, signature) in kernels.items():
        assert dispatcher.signatures == [resolve_signature(signature)], key


def test_import_is_lazy():
    code = "import sys, thud.geometry; print([m for m in ('numba', 'scipy', 'numpy') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not re.search("numba|scipy", out)
    assert set(geometry.__all__) <= set(dir(geometry))
    for name in geometry.__all__:
        assert getattr(geometry, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = geometry.nonsense
