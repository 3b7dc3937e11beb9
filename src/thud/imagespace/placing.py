"""From meshes in their own frames to the world, and from the world to the pixels of a view, in Numba."""

from __future__ import annotations

import math

from thud._core.decorators import exact_kernel


@exact_kernel("i8, i8, f8[:,::1], i8[::1], f8[:,::1], f8[:,::1]")
def box_rows(start, stop, poses, vertex_starts, vertices, boxes_out):
    """World boxes of objects [start, stop)."""
    for k in range(start, stop):
        for axis in range(3):
            xx, xy, xz, at = poses[k, 3 * axis], poses[k, 3 * axis + 1], poses[k, 3 * axis + 2], poses[k, 9 + axis]
            lower, upper = math.inf, -math.inf
            for v in range(vertex_starts[k], vertex_starts[k + 1]):
                here = xx * vertices[v, 0] + xy * vertices[v, 1] + xz * vertices[v, 2] + at
                lower, upper = min(lower, here), max(upper, here)
            boxes_out[k, axis], boxes_out[k, 3 + axis] = lower, upper


@exact_kernel("i8, i8, f8[:,::1], i8[::1], i8[::1], i8[::1], f8[:,::1], i8[:,::1], i8[:,::1], f8[:,::1]")
def place_rows(start, stop, poses, vertex_starts, triangle_starts, edge_starts, vertices, triangles, edges, normals_out):
    """Objects [start, stop), in place: vertices into the world, their numbers from the object's to the scene's, triangles that
    face inward turned over. Unit normals of vertices: the mean of the triangles around, by area; 0 if they cancel."""
    for k in range(start, stop):
        first, last = vertex_starts[k], vertex_starts[k + 1]
        for v in range(first, last):
            x, y, z = vertices[v, 0], vertices[v, 1], vertices[v, 2]
            for axis in range(3):
                at = poses[k, 3 * axis] * x + poses[k, 3 * axis + 1] * y + poses[k, 3 * axis + 2] * z + poses[k, 9 + axis]
                vertices[v, axis], normals_out[v, axis] = at, 0.0
        for e in range(edge_starts[k], edge_starts[k + 1]):
            edges[e, 0], edges[e, 1] = edges[e, 0] + first, edges[e, 1] + first
        # Six times the volume, about the first vertex: negative if the mesh is inside out.
        volume = 0.0
        for t in range(triangle_starts[k], triangle_starts[k + 1]):
            for corner in range(3):
                triangles[t, corner] += first
            a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
            ux, uy, uz = vertices[b, 0] - vertices[a, 0], vertices[b, 1] - vertices[a, 1], vertices[b, 2] - vertices[a, 2]
            vx, vy, vz = vertices[c, 0] - vertices[a, 0], vertices[c, 1] - vertices[a, 1], vertices[c, 2] - vertices[a, 2]
            nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
            wx, wy, wz = (
                vertices[a, 0] - vertices[first, 0],
                vertices[a, 1] - vertices[first, 1],
                vertices[a, 2] - vertices[first, 2],
            )
            volume += wx * nx + wy * ny + wz * nz
            for corner in range(3):
                v = triangles[t, corner]
                normals_out[v, 0], normals_out[v, 1], normals_out[v, 2] = (
                    normals_out[v, 0] + nx, normals_out[v, 1] + ny, normals_out[v, 2] + nz,
                )  # fmt: skip
        sign = 1.0
        if volume < 0.0:
            sign = -1.0
            for t in range(triangle_starts[k], triangle_starts[k + 1]):
                triangles[t, 0], triangles[t, 2] = triangles[t, 2], triangles[t, 0]
        for v in range(first, last):
            length = math.sqrt(normals_out[v, 0] ** 2 + normals_out[v, 1] ** 2 + normals_out[v, 2] ** 2)
            scale = sign / length if length > 0.0 else 0.0
            for axis in range(3):
                normals_out[v, axis] *= scale


@exact_kernel("i8, i8, f8[:,::1], f8[:,::1], f8, f8[:,::1], f8[::1], f8, f8[:,::1], f8[:,::1]")
def project_rows(start, stop, vertices, normals, offset, rotation, lower, pixel, points_out, moved_out):
    """Pixels and depth (`View.project`) of vertices, and of vertices moved by `offset` along their normals."""
    for v in range(start, stop):
        x, y, z = vertices[v, 0], vertices[v, 1], vertices[v, 2]
        nx, ny, nz = x + offset * normals[v, 0], y + offset * normals[v, 1], z + offset * normals[v, 2]
        for axis in range(3):
            rx, ry, rz = rotation[axis, 0], rotation[axis, 1], rotation[axis, 2]
            scale = pixel if axis < 2 else 1.0
            points_out[v, axis] = (x * rx + y * ry + z * rz - lower[axis]) / scale
            moved_out[v, axis] = (nx * rx + ny * ry + nz * rz - lower[axis]) / scale


@exact_kernel("i8, i8, i8[::1], i8[::1], f8[:,::1], f8[:,::1], i8[:,::1], i8[::1], b1[::1]")
def reaching_rows(start, stop, neighbour_starts, neighbours, boxes, vertices, edges, edge_starts, reaches_out):
    """Whether each edge of the objects [start, stop) reaches into the box of one of its object's neighbours."""
    for k in range(start, stop):
        for e in range(edge_starts[k], edge_starts[k + 1]):
            i, j = edges[e, 0], edges[e, 1]
            lx, ux = min(vertices[i, 0], vertices[j, 0]), max(vertices[i, 0], vertices[j, 0])
            ly, uy = min(vertices[i, 1], vertices[j, 1]), max(vertices[i, 1], vertices[j, 1])
            lz, uz = min(vertices[i, 2], vertices[j, 2]), max(vertices[i, 2], vertices[j, 2])
            reaches = False
            for n in range(neighbour_starts[k], neighbour_starts[k + 1]):
                b = neighbours[n]
                if (
                    lx <= boxes[b, 3] and ux >= boxes[b, 0] and ly <= boxes[b, 4] and uy >= boxes[b, 1]
                    and lz <= boxes[b, 5] and uz >= boxes[b, 2]
                ):  # fmt: skip
                    reaches = True
                    break
            reaches_out[e] = reaches
