"""The same small assembly in every format: a plate, two bolts of one geometry, and a ball."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from tests.io.scene_files.step_text import step_text

#: Lengths of the plate and of a bolt, and where their middles are (metres, z up).
PLATE, BOLT = (0.4, 0.2, 0.02), (0.02, 0.03, 0.1)
PLACES = {"plate": (0.0, 0.0, 0.0), "bolt a": (0.1, 0.05, 0.03), "bolt b": (-0.1, -0.05, 0.03)}

FORMATS = ("glb", "gltf", "obj", "stl", "ply", "3mf", "dae", "step", "ifc", "usda", "usdc", "usdz", "urdf")


def moved(place, turn=0.0) -> np.ndarray:
    matrix = np.eye(4)
    c, s = np.cos(turn), np.sin(turn)
    matrix[:2, :2] = [[c, -s], [s, c]]
    matrix[:3, 3] = place
    return matrix


def make(ending: str, folder: Path) -> Path:
    """Write the assembly, return the file to load."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"assembly.{ending}"
    if ending in ("glb", "gltf", "obj", "stl", "ply", "3mf"):
        _by_trimesh(ending, path)
    else:
        {"dae": _dae, "step": _step, "ifc": _ifc, "usda": _usd, "usdc": _usd, "usdz": _usdz, "urdf": _urdf}[ending](path)
    return path


def _by_trimesh(ending: str, path: Path) -> None:
    import trimesh

    scene = trimesh.Scene(base_frame="assembly")
    boxes = {"plate": trimesh.creation.box(PLATE), "bolt": trimesh.creation.box(BOLT)}
    # glTF has y up: x stays, z up becomes y up.
    turn = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1.0]])
    front = turn if ending in ("glb", "gltf") else np.eye(4)
    # 3MF is in millimetres.
    front = np.diag([1000.0, 1000.0, 1000.0, 1.0]) if ending == "3mf" else front
    for name, place in PLACES.items():
        geometry = name.split()[0]
        scene.add_geometry(boxes[geometry], node_name=name, geom_name=geometry, transform=front @ moved(place))
    if ending == "gltf":
        for name, data in scene.export(file_type="gltf").items():
            (path.parent / name).write_bytes(data)
        os.replace(path.parent / "model.gltf", path)
    elif ending in ("stl", "ply"):
        scene.to_geometry().export(path)
    else:
        scene.export(path)


def _dae(path: Path) -> None:
    import collada
    import trimesh

    document = collada.Collada()
    document.assetInfo.unitname, document.assetInfo.unitmeter = "millimeter", 0.001
    document.assetInfo.upaxis = "Z_UP"
    geometries = {}
    for name, size in (("plate", PLATE), ("bolt", BOLT)):
        box = trimesh.creation.box(1000.0 * np.array(size))
        source = collada.source.FloatSource(f"{name}-v", box.vertices.ravel(), ("X", "Y", "Z"))
        geometry = collada.geometry.Geometry(document, f"{name}-id", name, [source])
        inputs = collada.source.InputList()
        inputs.addInput(0, "VERTEX", f"#{name}-v")
        geometry.primitives.append(geometry.createTriangleSet(box.faces.ravel(), inputs, "m"))
        document.geometries.append(geometry)
        geometries[name] = geometry
    nodes = []
    for name, place in PLACES.items():
        shape = collada.scene.GeometryNode(geometries[name.split()[0]], [])
        move = collada.scene.MatrixTransform(moved(1000.0 * np.array(place)).ravel())
        nodes.append(collada.scene.Node(name.replace(" ", "_"), children=[shape], transforms=[move]))
    scene = collada.scene.Scene("scene", [collada.scene.Node("assembly", children=nodes)])
    document.scenes.append(scene)
    document.scene = scene
    document.write(str(path))


def _step(path: Path) -> None:
    sizes = {"plate": PLATE, "bolt": BOLT}
    parts = {name: tuple(1000.0 * v for v in size) for name, size in sizes.items()}
    instances = []
    for name, place in PLACES.items():
        size = np.array(sizes[name.split()[0]])
        instances.append((name, name.split()[0], tuple(1000.0 * (np.array(place) - size / 2))))
    path.write_text(step_text(parts, instances))


def _ifc(path: Path) -> None:
    import ifcopenshell.api.aggregate
    import ifcopenshell.api.context
    import ifcopenshell.api.geometry
    import ifcopenshell.api.project
    import ifcopenshell.api.root
    import ifcopenshell.api.spatial
    import ifcopenshell.api.unit

    api = ifcopenshell.api
    model = api.project.create_file()
    project = api.root.create_entity(model, ifc_class="IfcProject", name="project")
    api.unit.assign_unit(model)
    context = api.context.add_context(model, context_type="Model")
    body = api.context.add_context(
        model, context_type="Model", context_identifier="Body", target_view="MODEL_VIEW", parent=context
    )
    storey = api.root.create_entity(model, ifc_class="IfcBuildingStorey", name="assembly")
    api.aggregate.assign_object(model, relating_object=project, products=[storey])
    for name, place in PLACES.items():
        size = np.array(PLATE if name == "plate" else BOLT)
        element = api.root.create_entity(model, ifc_class="IfcWall", name=name)
        shape = api.geometry.add_wall_representation(model, context=body, length=size[0], height=size[2], thickness=size[1])
        api.geometry.assign_representation(model, product=element, representation=shape)
        api.geometry.edit_object_placement(model, product=element, matrix=moved(np.array(place) - size / 2))
        api.spatial.assign_container(model, relating_structure=storey, products=[element])
    model.write(str(path))


def _usd_stage(path: Path):
    from pxr import Gf, Usd, UsdGeom

    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 0.001)
    top = UsdGeom.Xform.Define(stage, "/assembly")
    stage.SetDefaultPrim(top.GetPrim())
    for name, size in (("plate", PLATE), ("bolt", BOLT)):
        stage.CreateClassPrim(f"/_{name}")
        cube = UsdGeom.Mesh.Define(stage, f"/_{name}/box")
        corners = [(x * size[0] * 500, y * size[1] * 500, z * size[2] * 500) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
        cube.CreatePointsAttr([Gf.Vec3f(*c) for c in corners])
        cube.CreateFaceVertexCountsAttr([4] * 6)
        cube.CreateFaceVertexIndicesAttr([0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3])
        cube.CreateSubdivisionSchemeAttr("none")
    for name, place in PLACES.items():
        prim = UsdGeom.Xform.Define(stage, f"/assembly/{name.replace(' ', '_')}")
        prim.AddTranslateOp().Set(Gf.Vec3d(*(1000.0 * np.array(place))))
        prim.GetPrim().GetReferences().AddInternalReference(f"/_{name.split()[0]}")
        prim.GetPrim().SetInstanceable(True)
    return stage


def _usd(path: Path) -> None:
    _usd_stage(path).Save()


def _usdz(path: Path) -> None:
    from pxr import Sdf, UsdUtils

    inner = path.with_name("inner.usdc")
    _usd_stage(inner).Save()
    UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(inner)), str(path))
    inner.unlink()


def _urdf(path: Path) -> None:
    import trimesh

    (path.parent / "meshes").mkdir(exist_ok=True)
    trimesh.creation.box(1000.0 * np.array(BOLT)).export(path.parent / "meshes" / "bolt.stl")
    mesh = '<geometry><mesh filename="package://robot/meshes/bolt.stl" scale="0.001 0.001 0.001"/></geometry>'
    links, joints = [], []
    for name, place in PLACES.items():
        shape = f'<geometry><box size="{" ".join(map(str, PLATE))}"/></geometry>' if name == "plate" else mesh
        links.append(f'<link name="{name}"><collision>{shape}</collision></link>')
        if name != "plate":
            joints.append(
                f'<joint name="to {name}" type="revolute"><parent link="plate"/><child link="{name}"/>'
                f'<origin xyz="{place[0]} {place[1]} {place[2]}"/><axis xyz="0 0 1"/>'
                '<limit lower="-1" upper="2" effort="1" velocity="1"/></joint>'
            )
    path.write_text(f'<?xml version="1.0"?>\n<robot name="assembly">{"".join(links + joints)}</robot>\n')
