"""Tolerances and limits of `imagespace/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Pixels that a view leaves free at each border of what it shows (a count): edges are drawn outside of their objects.
VIEW_MARGIN = 3

#: Most pixels from one end of what is drawn to the other (a count), seen or not: twice a triangle's area, in units of
#: 1 / 256 pixel, must fit 63 bits with room to spare.
VIEW_SPAN = 2**21

#: How far outside of its object an edge is drawn, pixels. The point of an edge that a pixel shows lies up to half a pixel
#: beside its centre, where faces are sampled: with less, an edge may seem to be inside its own object. Together, what is
#: reported lies within 2 pixels.
EDGE_OFFSET = 1.0

#: Pixels in a wanted precision (a count), when a view goes closer: of what lies that deep, some edge shows in several.
PRECISION_PIXELS = 4.0

#: A pixel is no smaller than this part of the largest coordinate, of which rounding takes 1e-16: a place is right to some 1e-4
#: of a pixel.
VIEW_PIXEL = 1e-12

#: Largest side of an image, pixels: 8,192 x 8,192 takes 2 GB.
MOST_PIXELS = 8_192

#: Largest side of a close view, pixels; a region that needs more is cut into several.
CLOSE_PIXELS = 1_024

#: Most directions of rays (a count): three at right angles and their bisectors.
MOST_VIEWS = 9

#: Layers that are drawn when all are asked for, at most (a count).
ALL_LAYERS = 1_000

#: Side of the image in which a pair that was not seen is looked at inward, pixels: half a millisecond for two meshes of
#: 5,000 triangles, and one and a half pixels are at most a 28th of the diagonal of the pair's common box.
INWARD_PIXELS = 48

#: Vertices of an object, beside one of each connected part, that are looked for in the other exactly (a count).
HELD_VERTICES = 16

#: How much wider than its mesh a coarse model is, of the mesh's size: more than its corners are rounded by.
COARSE_ROOM = 1e-9

#: Side of the images in which a way out is measured, pixels.
WAY_PIXELS = 48

#: Pixels around the deepest one that the next closer image shows (a count): the deepest point lies within one and a half.
WAY_WINDOW = 4.0

#: Pixels from the border of a closer image within which the deepest one is not believed (a count): the image is moved there.
WAY_BORDER = 3

#: Images of one way, at most (a count): three closer ones, the others to follow ridges.
WAY_LOOKS = 12

#: Closer images of a way, at most (a count): pixels become some 10^3 times smaller.
WAY_ZOOMS = 3

#: Steps from a way to a shorter one, at most (a count): each goes to the normal of a face, or of two edges, of the difference
#: of the two objects, and never to a longer way.
WAY_STEPS = 16

#: Corners of each object whose rays are looked at beside the pixels', at most (a count): those that reach farthest.
WAY_CORNERS = 8

#: A way must be shorter by this part of itself to be taken: less is the error of a closer image.
WAY_GAIN = 1e-6

#: How far from the deepest point faces count as meeting there, closer pixels.
WAY_NEAR = 3.0

#: Largest residual of a unit normal in the cone of others, to be in it: rounding, with room.
WAY_CONE = 1e-6

#: Contacts beside the deepest are at least this part as deep.
CONTACT_SHARE = 0.5

#: Most contacts of a pair (a count): four carry a face.
MOST_CONTACTS = 4
