"""A STEP file (AP214) with boxes: one product for each, in an assembly, written out entity by entity."""

from __future__ import annotations

import itertools


class _Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, text: str) -> str:
        self.lines.append(text)
        return f"#{len(self.lines)}"


def _numbers(values) -> str:
    return "(" + ",".join(repr(float(v)) for v in values) + ")"


def _placement(w: _Writer, origin=(0, 0, 0), z=(0, 0, 1), x=(1, 0, 0)) -> str:
    p = w.add(f"CARTESIAN_POINT('',{_numbers(origin)})")
    a, b = w.add(f"DIRECTION('',{_numbers(z)})"), w.add(f"DIRECTION('',{_numbers(x)})")
    return w.add(f"AXIS2_PLACEMENT_3D('',{p},{a},{b})")


def _box(w: _Writer, size) -> str:
    """A solid from the origin to `size`: eight corners, twelve edges, six planes."""
    corners = {
        c: w.add(f"CARTESIAN_POINT('',{_numbers(a * b for a, b in zip(c, size))})") for c in itertools.product((0, 1), repeat=3)
    }
    vertices = {c: w.add(f"VERTEX_POINT('',{p})") for c, p in corners.items()}
    edges = {}
    for a in corners:
        for axis in range(3):
            if a[axis] == 0:
                b = tuple(1 if k == axis else v for k, v in enumerate(a))
                direction = w.add(f"DIRECTION('',{_numbers(1 if k == axis else 0 for k in range(3))})")
                vector = w.add(f"VECTOR('',{direction},1.)")
                line = w.add(f"LINE('',{corners[a]},{vector})")
                edges[a, b] = w.add(f"EDGE_CURVE('',{vertices[a]},{vertices[b]},{line},.T.)")
    faces = []
    for axis, side in itertools.product(range(3), (0, 1)):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        ring = []
        for du, dv in ((0, 0), (1, 0), (1, 1), (0, 1)):
            corner = [0, 0, 0]
            corner[axis], corner[u], corner[v] = side, du, dv
            ring.append(tuple(corner))
        if side == 0:
            ring.reverse()
        used = []
        for a, b in zip(ring, ring[1:] + ring[:1]):
            edge, way = (edges[a, b], ".T.") if (a, b) in edges else (edges[b, a], ".F.")
            used.append(w.add(f"ORIENTED_EDGE('',*,*,{edge},{way})"))
        loop = w.add(f"EDGE_LOOP('',({','.join(used)}))")
        bound = w.add(f"FACE_OUTER_BOUND('',{loop},.T.)")
        normal = [0, 0, 0]
        normal[axis] = 1 if side else -1
        across = [0, 0, 0]
        across[u] = 1
        origin = [0, 0, 0]
        origin[axis] = side * size[axis]
        plane = w.add(f"PLANE('',{_placement(w, origin, normal, across)})")
        faces.append(w.add(f"ADVANCED_FACE('',({bound}),{plane},.T.)"))
    shell = w.add(f"CLOSED_SHELL('',({','.join(faces)}))")
    return w.add(f"MANIFOLD_SOLID_BREP('',{shell})")


def step_text(parts: dict[str, tuple], instances: list[tuple[str, str, tuple]], prefix: str = ".MILLI.") -> str:
    """The text of a file.

    parts : name -> lengths of a box
    instances : (name of the instance, name of the part, place of its corner)
    prefix : of the metre, or "$"
    """
    w = _Writer()
    application = w.add("APPLICATION_CONTEXT('automotive design')")
    w.add(f"APPLICATION_PROTOCOL_DEFINITION('international standard','automotive_design',2000,{application})")
    of_product = w.add(f"PRODUCT_CONTEXT('',{application},'mechanical')")
    of_definition = w.add(f"PRODUCT_DEFINITION_CONTEXT('part definition',{application},'design')")
    length = w.add(f"(LENGTH_UNIT()NAMED_UNIT(*)SI_UNIT({prefix},.METRE.))")
    angle = w.add("(NAMED_UNIT(*)PLANE_ANGLE_UNIT()SI_UNIT($,.RADIAN.))")
    solid = w.add("(NAMED_UNIT(*)SI_UNIT($,.STERADIAN.)SOLID_ANGLE_UNIT())")
    off = w.add(f"UNCERTAINTY_MEASURE_WITH_UNIT(LENGTH_MEASURE(1.E-07),{length},'distance_accuracy_value','')")
    context = w.add(
        f"(GEOMETRIC_REPRESENTATION_CONTEXT(3)GLOBAL_UNCERTAINTY_ASSIGNED_CONTEXT(({off}))"
        f"GLOBAL_UNIT_ASSIGNED_CONTEXT(({length},{angle},{solid}))REPRESENTATION_CONTEXT('',''))"
    )

    def product(name: str) -> tuple[str, str]:
        p = w.add(f"PRODUCT('{name}','{name}','',({of_product}))")
        formation = w.add(f"PRODUCT_DEFINITION_FORMATION('','',{p})")
        definition = w.add(f"PRODUCT_DEFINITION('design','',{formation},{of_definition})")
        return definition, w.add(f"PRODUCT_DEFINITION_SHAPE('','',{definition})")

    definitions, shapes, origins = {}, {}, {}
    for name, size in parts.items():
        brep, origins[name] = _box(w, size), _placement(w)
        definitions[name], shape = product(name)
        shapes[name] = w.add(f"ADVANCED_BREP_SHAPE_REPRESENTATION('',({origins[name]},{brep}),{context})")
        w.add(f"SHAPE_DEFINITION_REPRESENTATION({shape},{shapes[name]})")
    if instances:
        whole, shape = product("assembly")
        places = [_placement(w, place) for _, _, place in instances]
        base = w.add(f"SHAPE_REPRESENTATION('',({','.join([_placement(w), *places])}),{context})")
        w.add(f"SHAPE_DEFINITION_REPRESENTATION({shape},{base})")
        for k, (name, part, _) in enumerate(instances):
            usage = w.add(f"NEXT_ASSEMBLY_USAGE_OCCURRENCE('{k + 1}','{name}','',{whole},{definitions[part]},$)")
            of_usage = w.add(f"PRODUCT_DEFINITION_SHAPE('','',{usage})")
            move = w.add(f"ITEM_DEFINED_TRANSFORMATION('','',{origins[part]},{places[k]})")
            relation = w.add(
                f"(REPRESENTATION_RELATIONSHIP('','',{shapes[part]},{base})"
                f"REPRESENTATION_RELATIONSHIP_WITH_TRANSFORMATION({move})SHAPE_REPRESENTATION_RELATIONSHIP())"
            )
            w.add(f"CONTEXT_DEPENDENT_SHAPE_REPRESENTATION({relation},{of_usage})")
    body = "\n".join(f"#{k + 1}={line};" for k, line in enumerate(w.lines))
    return (
        "ISO-10303-21;\nHEADER;\nFILE_DESCRIPTION((''),'2;1');\n"
        "FILE_NAME('boxes','2020-01-01T00:00:00',(''),(''),'','','');\nFILE_SCHEMA(('AUTOMOTIVE_DESIGN'));\nENDSEC;\n"
        f"DATA;\n{body}\nENDSEC;\nEND-ISO-10303-21;\n"
    )
