"""Tolerances and limits of `terrain/tiles/`, each with its reason."""

from __future__ import annotations

#: A node of a sphere tree is a leaf when it has fewer triangles than this (a count): N of [EUVE] 4.1.
LEAF_TRIANGLES = 20

#: Or when it lies at this level; the tile's own sphere is level 0 (a count): M of [EUVE] 4.1.
TREE_LEVELS = 20

#: Most levels that a record may have (a count): what the check has room for.
MOST_LEVELS = 64

#: Children of a node (a count): two halves along the longest side of its box, each halved again.
CHILDREN = 4

#: A radius grows by this, relative to it and to the coordinates, before it is rounded up to float32: a few roundoffs of the
#: squares and the square root that it is made with.
SPHERE_SLACK = 2.0**-48

#: A walk takes a sphere to be in reach up to this beyond it, relative to the numbers compared: roundoff of four squares.
REACH_SLACK = 2.0**-48

#: Planes are stored of triangles whose doubled area is at least this times the square of their longest edge; the normal of a
#: thinner one is lost in roundoff, and its plane is 0.
PLANE_NEEDLE = 1e-6

#: A triangle is out of reach when its plane is, by this much more relative to the coordinates: the error of a normal is 2^-53
#: over PLANE_NEEDLE.
PLANE_REACH = 2.0**-32

#: A triangle is beside a sphere by more than this, relative to the numbers compared: the differences may be made in float32.
BESIDE_SLACK = 2.0**-20

#: How far a stored plane may be from its triangle's corners, relative to the size of the tile: it was made from
#: them in float64.
PLANE_SLACK = 2.0**-32

#: How far stored planes and boxes of a displaced surface may be from those computed anew, relative to their size: float32, and
#: the optimum of a search that other processors end a little elsewhere.
BOUND_SLACK = 2.0**-18

#: Most samples along a side of a quad of a displaced tile (a count): its patches are numbered by 10 bits each way.
QUAD_SAMPLES = 1024

#: Largest record (bytes): LMDB's own limit of a value is 4 GiB, and whole numbers inside are int32.
LARGEST_RECORD = 2**31 - 2**16

#: Least record (bytes): larger values have pages of their own in LMDB, where they begin at a multiple of 16. (Where pages are
#: larger than 8 KiB the smallest records may not; those are copied when read.)
LEAST_RECORD = 4096

#: Most places in the grid of tiles (a count): queries make lists of them, and names of triangles have 31 bits for a tile.
MOST_TILES = 2**24

#: Shortest side of a tile (metres): what is shorter is lost in the roundoff of coordinates.
LEAST_TILE = 1e-6

#: Longest manifest (bytes of JSON).
LARGEST_MANIFEST = 2**20

#: A writer commits after so many bytes, or so many seconds, whichever comes first: what a crash costs at most.
COMMIT_BYTES = 64 * 2**20
COMMIT_SECONDS = 2.0

#: Addresses that an environment reserves for a store, unless told otherwise (bytes): none of it is memory or disk.
MAP_SIZE = 2**40

#: Processes and threads that may read at the same time (a count): LMDB's table has a row of 64 bytes for each.
MOST_READERS = 512

#: How deep LMDB's own trees may be (a count): its cursors have a stack of 32.
PAGE_LEVELS = 32

#: Largest map that a file may ask for (bytes): what a process can address.
LARGEST_MAP = 2**47

#: How often the pages of a store are looked through again because a writer has moved on meanwhile (a count).
PAGE_TRIES = 20

#: A camera stops at most half of this before what it meets, relative to its radius, and to its coordinates: more than distances
#: err by in float64, less than anybody sees.
SLIDE_SKIN = 2.0**-24
SLIDE_SKIN_FAR = 2.0**-44

#: A motion that approaches a surface by less than this, relative to its length, runs along it: what a projection leaves of the
#: normal is some 1e-16.
SLIDE_PARALLEL = 1e-12

#: What is left of a motion below this part of it is used up: its direction is roundoff.
SLIDE_END = 1e-9

#: A camera's motion longer than this part of a tile goes piece by piece, so that memory does not grow with its square.
SLIDE_TILES = 0.5

#: Most turns of one motion, or of a piece of it (a count). Each one is at something not touched before.
SLIDE_HITS = 1024

#: Most steps of Newton's method to a contact (a count): it doubles the digits, and halves the rest where a motion grazes.
SWEEP_STEPS = 64

#: Most different normals that a camera touches at once (a count); beyond, it stops.
TOUCHING_NORMALS = 64

#: Normals are the same when their cosine is so close to 1.
SAME_NORMAL = 1e-14

#: A motion that meets again what it has just met leans off it: at first by this part of its length, times the triangles' size
#: over the radius, by which roundoff in their normals grows; then by so many times more each time; always by a little more than
#: need be (a factor), and at most by the part LEAN_MOST; in so many rounds (a count).
LEAN_LEAST = 2.0**-52
LEAN_AGAIN = 4.0
LEAN_MORE = 1.0 + 2.0**-10
LEAN_MOST = 1e-6
LEAN_ROUNDS = 16

#: How much farther a tile may reach than its place and the overhang say, relative to the coordinates: roundoff of its origin.
PLACE_SLACK = 2.0**-44

#: Bytes that a mesh takes a triangle, with its trees and edges, about: what the budget counts for one that was made of a tile.
MESH_BYTES = 640

#: Threads that read tiles ahead (a count): reading waits for the disk, and checking a tile takes a fraction of a core.
LOADING_THREADS = 2

#: Most tiles that are being read ahead at once (a count): what is asked for beyond that is asked for again.
MOST_AHEAD = 64

#: Windows are laid out in units of this part of a tile; the smallest is 2^3 of them a side.
WINDOW_UNITS = 64
WINDOW_LEAST = 3

#: Most tiles that one window is stitched from (a count); beyond it a query goes tile by tile.
WINDOW_TILES = 256

#: A cast is cut into pieces that span no more than this many tiles along an axis.
CAST_TILES = 2.0

#: Pieces of a cast overlap by this part of one, so that none begins in what the one before had touched.
CAST_OVERLAP = 2.0**-6

#: Samples of height tiles lie on one lattice when they are no farther from it than this part of the spacing.
LATTICE_SLACK = 2.0**-20

#: Rays are followed through the tiles in pieces of this part of a tile.
RAY_PIECE = 1.0

#: Two places along a ray are one when they are no farther apart than this, relative to the coordinates: some roundoffs of the
#: frames of two tiles.
RAY_EDGE = 2.0**-40

#: How far a tile may reach beyond the manifest's bounds, relative to the coordinates: roundoff.
BOX_SLACK = 1e-9

#: After a motion to its first contact a shape touches what is this near, relative to its size: casts end up to 1e-7 of it
#: before.
TOUCHED = 1e-6

#: Tiles are read ahead for so many steps of a camera's motion (a count), and at least so many tiles far.
AHEAD_STEPS = 240.0
AHEAD_TILES = 1.5

#: And in the frustum, within so many tiles.
VIEW_TILES = 4.0

#: What is ahead is looked up again when the camera has gone this part of a tile, or turned by this cosine.
AHEAD_AGAIN = 0.125
AHEAD_TURN = 0.99

#: Part of the budget that what is read ahead may take.
AHEAD_BUDGET = 0.5

#: Bytes that a system maps about a page that is touched: Linux takes 64 KiB.
FAULT_AROUND = 2**16
