"""Which formats are read, by which reader, and how their files begin."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A format of files.

    Attributes
    ----------
    name : as people call it
    module : its file in `readers/`
    packages : what the reader imports
    extra : the extra of thud that brings them
    starts : how a file may begin, after white space for text; empty where there is no mark
    """

    name: str
    module: str
    packages: tuple[str, ...] = ()
    extra: str = ""
    starts: tuple[bytes, ...] = ()


_XML = (b"<",)
_ZIP = (b"PK\x03\x04",)

#: By the ending of the file's name.
FORMATS = {
    "glb": Format("GLB", "gltf", starts=(b"glTF",)),
    "gltf": Format("glTF", "gltf", starts=(b"{",)),
    "obj": Format("OBJ", "obj"),
    "stl": Format("STL", "meshes", ("trimesh",), "app"),
    "ply": Format("PLY", "meshes", ("trimesh",), "app", (b"ply",)),
    "3mf": Format("3MF", "threemf", starts=_ZIP),
    "dae": Format("COLLADA", "collada", ("collada",), "app", _XML),
    "step": Format("STEP", "step", ("cascadio",), "cad", (b"ISO-10303-21",)),
    "ifc": Format("IFC", "ifc", ("ifcopenshell", "ifcopenshell.geom"), "bim", (b"ISO-10303-21",)),
    "usd": Format("USD", "usd", ("pxr.Usd", "pxr.UsdGeom"), "usd", (b"PXR-USDC", b"#usda", b"#sdf")),
    "usda": Format("USD as text", "usd", ("pxr.Usd", "pxr.UsdGeom"), "usd", (b"#usda", b"#sdf")),
    "usdc": Format("USD", "usd", ("pxr.Usd", "pxr.UsdGeom"), "usd", (b"PXR-USDC",)),
    "usdz": Format("USDZ", "usd", ("pxr.Usd", "pxr.UsdGeom"), "usd", _ZIP),
    "urdf": Format("URDF", "urdf", ("yourdfpy",), "app", _XML),
}
FORMATS["stp"] = FORMATS["step"]
FORMATS["xacro"] = FORMATS["urdf"]

#: Files that begin like this are of a known kind, whatever their name says.
MARKS = {
    b"glTF": "GLB",
    b"PK\x03\x04": "a ZIP archive (3MF, USDZ)",
    b"ISO-10303-21": "STEP or IFC",
    b"PXR-USDC": "USD",
    b"#usda": "USD as text",
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"%PDF": "a PDF",
    b"\x7fELF": "a program",
    b"MZ\x90": "a program",
    b"\x1f\x8b": "a gzip archive",
    b"<?xml": "XML",
    b"ply\n": "PLY",
    b"ply\r\n": "PLY",
}
