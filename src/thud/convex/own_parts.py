"""Parts of which each thread has its own copy, since the points of one of them are written over in a walk: a mesh's triangle,
a surface's patch or volume."""

from __future__ import annotations

from thud._core.decorators import view_device
from thud.shapes.packed import Parts


@view_device
def own_parts(parts):
    """The same with copies of what is written over."""
    return Parts(parts.ints, parts.reals.copy(), parts.vertices.copy(), parts.link_starts, parts.links)
