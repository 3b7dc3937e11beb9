"""Every tolerance and limit of the package: its unit, its reason and how it scales with the objects.

No tolerance is absolute. A kernel multiplies the relative ones by a length of the pair at hand, `size`: the sum of
the two bounding radii. A global constant is frozen into the compiled kernel; the kernel cache is keyed by the source,
so that a changed value takes effect.
"""

from __future__ import annotations

#: Unit roundoff of float64 (half the distance from 1 to the next number).
UNIT_ROUNDOFF = 2.0**-53

#: Quaternions and rotation matrices are accepted when they deviate from unit length / orthogonality by less than
#: this (dimensionless), then normalised. Single-precision input is off by 1e-7; 1e-6 lets it in, and nothing that is
#: skewed on purpose.
ROTATION_TOLERANCE = 1e-6

#: Touching intersects. Two cores whose gap is below TOUCH * (size + |offset|) count as touching: the support points of
#: rotated shapes carry a few roundoffs of their coordinates each, and kissing faces must not be reported apart because
#: of them. Relative to lengths, dimensionless: 64 units of roundoff.
TOUCH = 64.0 * UNIT_ROUNDOFF

#: GJK stops when the squared upper bound |v|^2 and the lower bound v.w of the distance agree to this fraction.
#: 1e-12 in the square keeps the distance right to 1e-12; the support scan itself is exact to 1e-16.
GJK_GAP = 1e-12

#: The same for shapes with curved surfaces, where the witness point is approached and never met exactly: 2e-9 of the
#: squared distance, three orders better than the 1e-6 * size that curved shapes promise.
GJK_GAP_CURVED = 2e-9

#: On curved surfaces GJK also accepts a gap of this * size between the bounds of the distance. Pressing on would bring
#: support points so close together (the square root of it) that their simplex degenerates.
GJK_FLOOR_CURVED = 1e-8

#: Roundoff of v.w in units of |v| * size: gaps below this cannot be measured, so GJK accepts them.
GJK_ROUNDOFF = 8.0 * UNIT_ROUNDOFF

#: Most GJK steps in a row that do not shorten v measurably (a count). Where one vertex of the simplex is far away, a
#: step may turn v without shortening it, and only the next one gains.
GJK_STALLS = 4

#: A search that has come to a halt is still called SEPARATED when its bounds differ by less than this * size: a tenth of
#: the 1e-9 * size that polytopes promise, and of the 1e-6 * size that curved shapes do.
GJK_SLACK = 1e-10
GJK_SLACK_CURVED = 1e-7

#: GJK's iteration limits. Polytopes of 30-60 vertices take 4 to 8; curved needles up to a few dozen. Past the limit
#: the status is UNCONVERGED, never SEPARATED.
GJK_ITERATIONS = 64
GJK_ITERATIONS_CURVED = 512

#: EPA stops when the depth's upper and lower bounds differ by less than this times `size`. On curved surfaces, half of
#: the 1e-6 * size that they promise: the number of faces grows with the inverse of it.
EPA_GAP = 1e-12
EPA_GAP_CURVED = 5e-7

#: EPA treats a new support point within this * size of a face's plane as lying in the plane, and merges the face into
#: what the point sees. Larger than the roundoff of a plane through three points of a well-shaped face, smaller than
#: EPA_GAP so that it never hides a gain.
EPA_COPLANAR = 4e-14

#: On curved shapes EPA trusts no face that is lower than this * size: a roundoff of 1e-16 * size at its corners turns its
#: normal by up to 1e-7, which moves its plane by less than EPA_GAP_CURVED.
EPA_THIN = 1e-9

#: Largest number of living faces of EPA's polytope. A generic pair needs under 200; two coaxial cylinders, whose depth is
#: the same all around, up to 20,000 (some milliseconds, 7 MB).
EPA_FACES = 32768

#: Faces of the first try; its scratch memory is small enough to be had for nothing. A search that does not converge is repeated
#: with EPA_FACES. Every pair begins with the first try: one that converges just as its scratch is full has other last bits than
#: with more room, so what came before it must not decide.
EPA_FACES_FIRST = 256

#: Hulls with more vertices than this are climbed along their edges from the best of the first HULL_SCAN vertices (a
#: well-spread sample); smaller ones are scanned whole with SIMD. Measured: the scan of 64 costs what 6 climbing steps do.
HULL_SCAN = 64

#: Two hull triangles whose unit normals differ by less than this (radians, relative to nothing) are one face.
HULL_COPLANAR = 1e-9

#: Most contact points of a manifold (two octagonal faces clipped): the default of `max_points`.
MANIFOLD_POINTS = 8

#: Two directions count as parallel for a contact face when the sine of their angle is below this. 1e-2 is 0.6
#: degrees: a box tilted by less than that rests on a face, as a user expects, with depths that show the tilt.
MANIFOLD_PARALLEL = 1e-2

#: A manifold whose deepest point is shallower than the penetration depth by more than this * size also gets the witness
#: points of the depth itself.
MANIFOLD_SLACK = 1e-7

#: A cap of a cylinder or cone becomes a polygon of this many sides in a contact manifold.
MANIFOLD_CAP_SIDES = 8

#: A linear cast stops when the remaining gap is below this * size; the time it reports is before contact, never after.
#: For curved shapes four times what GJK resolves, so that each step gains at least twice its tolerance.
CAST_GAP = 1e-9
CAST_GAP_CURVED = 4.0 * GJK_FLOOR_CURVED

#: Most steps of conservative advancement; a grazing motion needs a few dozen.
CAST_ITERATIONS = 256

#: The same for shapes that turn (a count). One that turns w radians at a distance x * size from another takes about
#: w / sqrt(8 x) steps; contacts take 5 to 10 more.
TURN_ITERATIONS = 1024

#: Most radians that a shape may turn in a cast: its angle is then right to 1e-10.
TURN_LARGEST = 1e6

#: Casts of meshes that turn advance by the distance of the surfaces while it is more than this times the length of a triangle;
#: then by windows of time in which points come closer by about as much.
TURN_NEAR = 2.0

#: What such a distance may be too large by, in units of the sizes: ten times what GJK leaves on curved shapes.
TURN_ERROR = 10.0 * GJK_FLOOR_CURVED

#: Most advances and windows of one cast of meshes (a count); it takes 10 to 50.
TURN_ROUNDS = 4096

#: Most reflections of one Chung-Wang search (a count); then each direction comes from the simplex alone. Most searches
#: that end apart do so within 4; a search in overlap gains nothing from more.
CHUNG_WANG_REFLECTIONS = 16

#: Most steps of a Chung-Wang search (a count) that bring its simplex no closer: two for each new face of a tetrahedron.
CHUNG_WANG_STALLS = 6

#: Error of a triple product in units of the sum of its six terms' magnitudes; below it Chung-Wang does not trust its sign.
CHUNG_WANG_VOLUME = 16.0 * UNIT_ROUNDOFF

#: V-Clip prefers the higher feature when a point lies within V_CLIP_TIE * (size + |offset|) of a Voronoi plane, and leaves
#: a feature for a lower one only V_CLIP_LEAVE * (size + |offset|) past it. A point in A's frame carries about 4 roundoffs of
#: these lengths. A violation of x lets the distance d shrink by x^2 / 2d at most: at the touch distance, the least d that is
#: ever reported, 24 roundoffs are worth 4.5. Three times the tie, so that a point near three planes at once stays put.
V_CLIP_TIE = 8.0 * UNIT_ROUNDOFF
V_CLIP_LEAVE = 24.0 * UNIT_ROUNDOFF

#: V-Clip takes its closest points as proved when the lower bound of the distance is within this * (size + |offset|): half of
#: the 1e-9 * size that polytopes promise. Only faces that HULL_COPLANAR merged out of plane come near it.
V_CLIP_GAP = 5e-10

#: V-Clip's most steps (a count). A cold start on hulls of 60 vertices takes 4 to 10, a coherent one 1 to 3; a stale start
#: crosses a hull of V vertices in about 2 sqrt(V).
V_CLIP_ITERATIONS = 512

#: Bins an axis of the surface-area heuristic (a count): 16 come within a few per cent of a full sweep (Wald 2007).
SAH_BINS = 16

#: Levels of a tree at which its build stops to look for the best split and halves instead (a count). With 2^31 triangles
#: at most, no tree is deeper than TREE_SPLITS + 31 levels, which bounds the stacks of the walks.
TREE_SPLITS = 48
TREE_LEVELS = 80

#: Meshes are accepted with coordinates up to this (metres), and poses of theirs too: squared distances in float32 stay
#: finite.
MESH_COORDINATE = 1e15

#: Boxes of trees are compared in float32. Roundoff of the 15 axes' terms adds up to less than this (32 units of float32
#: roundoff) times what the coordinates reach to; boxes closer than that are not told apart. Far below a leaf's size.
BOX_SLACK = 2e-6

#: Fronts of two trees (`mesh/tree_front.py`); they change the work, never the answers.
#: FRONT_CAPACITY: entries a row keeps at most unless told otherwise (a count; 32 bytes each).
#: FRONT_RETESTS: share of a front's entries that have to be tested again from which a walk from the root is cheaper.
#: FRONT_REST: frames for which a row's distance is then asked from the root, before a new front is tried (a count).
#: FRONT_RISE: gap of a node's children, relative to the node's extent, from which the node itself is tested again.
FRONT_CAPACITY = 1024
FRONT_RETESTS = 0.5
FRONT_REST = 8
FRONT_RISE = 0.125

#: One step of float32 relative to the number: half of it is the error of rounding to nearest (dimensionless).
FLOAT32_STEP = 2.0**-23

#: Least normal float32: bounding volumes have no smaller half extent or radius (metres).
FLOAT32_TINY = 2.0**-126

#: Most sweeps of the Jacobi eigenvalue method on 3 x 3 matrices (a count): it converges quadratically, in 4 to 6.
JACOBI_SWEEPS = 12

#: The smallest sphere about points is found when none is outside by more than this fraction of the squared radius: well above
#: the roundoff of a circumcentre, well below float32, in which the sphere is stored.
SPHERE_GAP = 1e-10

#: Most points that the search for the smallest sphere takes in one after the other (a count): usually 5 to 10.
SPHERE_PIVOTS = 48

#: Support points of a sphere span no triangle or tetrahedron when the square of its area or volume is below this fraction of
#: its edges' squares: their circumcentre would be lost in roundoff.
SPHERE_SLIVER = 1e-20

#: An OBB's axes in float32 are orthonormal to 2^-23: dot products of two of them are off by at most sqrt(3) 2^-24 each. The
#: half extents grow by this fraction of their sum, twice that error.
OBB_SKEW = 2.0**-22

#: Points of support planes are moved outward by this fraction of the mesh's extent (largest coordinate about its middle):
#: rounding to float32 moves them by sqrt(3) 2^-25 of it at most along the normal.
SPM_SHIFT = 2.0**-22

#: Bounding volumes are taken this much wider in Theorem 3.2, times the two meshes' extents: the points of the planes are off
#: by less than 2 SPM_SHIFT, and normals in float32 by 2^-23 of a unit length.
SPM_SLACK = 2.0**-20

#: Roundoff of the signed distances in Theorem 3.2, times what coordinates reach to: eight times what counts as touching.
SPM_MARGIN = 8.0 * TOUCH

#: Support planes whose normals have a squared sine below this have no line in common that is worth calculating: its points
#: would be off by margin / sine, which SPM_SLACK must cover. Only k-DOPs ask.
SPM_PARALLEL = 1e-6

#: Points are flat or on a line when their second or third spread is below this fraction of the first; normals leave a
#: direction open when they miss surrounding it by less. Well above roundoff, well below any face that bounds.
SPM_FLAT = 1e-9

#: Roundoff of the 15-axis test of two OBBs whose axes are orthonormal to float32, times the sum of all half extents: each of
#: the up to six terms of an axis is off by 2^-23 of it.
OBB_BLUR = 2.0**-19

#: Directions that the search for a clearing translation of two meshes looks in (a count): 13 degrees apart, a few basins
#: of the depth as a function of the direction each.
DEPTH_DIRECTIONS = 256

#: How much beyond the best so far a direction is looked at, since the basin's bottom may lie beside it (a factor).
DEPTH_WIDER = 1.4

#: Basins that are followed to their bottom (a count), and the angle in radians at which that ends: the depth is then within
#: about its square of the bottom's.
DEPTH_STARTS = 6
DEPTH_FINEST = 2e-3

#: Steps after which the way to the bottom of a basin is cut short (a count); it takes 10 to 20. What is reached by then is
#: valid, if a little longer than it could be.
DEPTH_STEPS = 40

#: Directions that the search for the normal of a contact patch looks in (a count).
PATCH_DIRECTIONS = 96

#: The mean normal of a patch's triangles is its normal unless another direction is this much better (a factor): the mean
#: changes little from frame to frame, the best direction may jump.
PATCH_NORMAL = 1.05

#: Cost of a leaf of four triangles in units of that of an 8-wide node, for the collapse of the tree: measured.
WIDE_LEAF_COST = 1.0

#: Rays of a batch are sorted by where they pass through the mesh, this many at a time (a count; 4 MB of work space), from
#: this many on: neighbours then find nodes and triangles in the cache. Halves the time of a million incoherent rays.
RAY_SORT_BLOCK = 2**19
RAY_SORT_LEAST = 4096

#: Rays and points that ask a mesh may come from as far as this (metres): the exact predicates multiply three lengths.
MESH_FARTHEST = 1e75

#: Winding numbers from moments, dimensionless. Most that one node's part may be off, by a proved bound, at first (least work,
#: measured); by what factor less where the sum of the bounds leaves open on which side of one half the number is; and the sum
#: from which it is taken as it is.
WINDING_NODE_ERROR = 0.006
WINDING_STEP = 0.3
WINDING_ERROR = 0.004

#: Most cells of a mesh's grid for points (a count): 2 MB of states and 16 MB of offsets.
GRID_CELLS = 2**21

#: A BSP tree drops pieces of triangles that reach less than this * size of the mesh out of a plane: some hundred roundoffs
#: of a corner that was cut a few times over.
BSP_THIN = 1e-13

#: Most triangles of a mesh with a BSP tree (a count): cuts may square their number, and a convex mesh its depth.
BSP_TRIANGLES = 5000

#: A body's box is wider by this times its coordinates: a few times TOUCH, so that whatever counts as touching overlaps.
BODY_BOX = 4.0 * TOUCH

#: A cell of the broad phase's grid is this times the largest object, and cells are numbered up to BROAD_CELLS either way: a
#: place over the cell's edge is then right to 2^-26, so that objects that overlap never lie two cells apart. Dimensionless.
BROAD_CELL = 1.0 + 1e-6
BROAD_CELLS = float(2**26)

#: Inclusion tests of continuous collision: F = D + u E + v G at a corner of a cell, and its product with a direction y, are off
#: by less than this times the sum over axes of |y| (|D| + |E| + |G|), the largest magnitudes over the motion. In units of
#: roundoff: 1 for the difference of two vertices, 3 for its linear interpolation in t, 3 for the dot product with y, 1 for the
#: product with u or v, 2 for the two sums, and 5 for the bound by the triangle beyond a corner (its size 2, a product, a sum
#: of at most twice the magnitude): 15, with second-order terms below 16. 24 leaves room for the sums that make up the bound.
INCLUSION_ROUNDOFF = 24.0 * UNIT_ROUNDOFF

#: Added to each such bound (metres) and to each upper end of a cell (dimensionless): what underflow may have taken, some
#: hundred times the least normal number.
INCLUSION_UNDERFLOW = 1e-305

#: A cell that may hold a contact counts as one when the box of F over it is narrower than this * tolerance * extent along each
#: axis. The time may be earlier than that of such a cell by a step in which F moves by as much again, so that at the time
#: returned the two are within 2 sqrt(3) of it, 0.87 * tolerance * extent, of each other.
INCLUSION_WIDTH = 0.25

#: That width is at least this many times the roundoff of F: narrower boxes are not told from one another.
INCLUSION_FLOOR = 4.0

#: A cell that shrank to less than this fraction, measured by how far F moves over it, is looked at again; else it is halved.
INCLUSION_GAIN = 0.6

#: Two directions, scaled to largest magnitude 1, count as parallel, and three as flat, when the squared length of their cross
#: product or the triple product is below this: then other directions separate better. Any choice is valid.
INCLUSION_FLAT = 1e-8

#: Cells of one search (a count) after which a cell is also taken if the features are that near at its start, whatever u and v.
#: Generic contacts are found with fewer, and then to many more digits than asked for.
INCLUSION_EASY = 24

#: Most cells that wait (a count; 0.8 MB of work space). Each halving adds one; contacts of everything with everything, as of
#: edges that slide along each other, come to some hundred. If they do not suffice, that is a limit reached.
INCLUSION_CELLS = 16384

#: Defaults of the elementary queries: tolerance relative to the largest side of the box about all positions of a row, and most
#: cells that are looked at. A generic contact takes about ten; a long grazing one some thousand.
INCLUSION_TOLERANCE = 1e-6
INCLUSION_ITERATIONS = 1_000_000

#: A ray's way out of a box is lengthened by this factor, so that rounding of three operations an axis cannot make it leave
#: before it enters. Dimensionless.
RAY_BOX_SLACK = 1.0 + 8.0 * 2.0**-52

#: Limits of saved worlds (counts): what a file that is not to be trusted may make us allocate or walk through. Rows of bodies
#: (a few GB); parts of all compounds together, each as often as it is named; and levels of compounds in compounds, each of
#: which takes a few frames of Python's stack.
SAVED_BODIES = 2**24
SAVED_PARTS = 2**22
SAVED_DEPTH = 32

#: Largest header of a saved world, which holds names and options (bytes).
SAVED_HEADER = 2**28

#: Details of a displaced surface are back to their full height at 1 / DETAIL_FADE of the way across a primitive from an edge or
#: vertex where they fade out. Dimensionless.
DETAIL_FADE = 4.0

#: Heights of bounding planes are moved outward by this part of the largest coordinate: some sixty roundings of samples, heights
#: and interpolation, each half a unit in the last place.
PLANE_SLACK = 64.0 * 2.0**-53

#: Longest side of a quad of a displacement map (samples of the map).
QUAD_SIDE = 64

#: Most samples a side of a square of the map that detail maps may add (a count).
DETAIL_RATIO = 16

#: Bounding maps ([Yang] 3.5). A level's lengths are found in rounds: linearise the constraints, solve for the lengths. Two to
#: five rounds suffice; more are allowed where directions are skewed (a count).
BOUND_ROUNDS = 10

#: From this round on the diagonals of the cells stay as they are (a count).
BOUND_FREEZE = 5

#: Most sweeps of Hildreth's method over the constraints of one round (a count), and the change of a length, relative to the
#: reach of its quad, at which it stops: some orders below what would show in 0.5 % of the objective.
BOUND_SWEEPS = 100
BOUND_CHANGE = 1e-5

#: Two searches from different starts whose objectives differ by less than this part are thought to have found the best.
BOUND_AGREE = 1e-3

#: The rounds end when one changes no length by more than this times the reach.
BOUND_SETTLED = 1e-4

#: Bounding lengths lie outside the exact ones by at least this times the reach of the cell (its range of lengths, and its
#: extent in units of its directions), so that the volume of a flat cell has a thickness that outweighs rounding.
BOUND_THINNEST = 1e-6

#: Most passes that move lengths until all constraints hold (a count): the step doubles with each, from BOUND_THINNEST on.
BOUND_RAISES = 22

#: A cell is EXTREME (3.5.7) when one of its bounding lengths lies outside its own range of lengths by more than this times its
#: reach. Its volume would be much higher than needed: its points take the range of the lengths instead.
BOUND_EXTREME = 0.5

#: Growth of a cell's volume: code 0 is GROWTH_ZERO, which outweighs the rounding of points up to 1e6 cells from the origin;
#: codes 1 to 254 run from GROWTH_LEAST to just above 1 in steps of 3 to 5 % (dimensionless); 255 marks an EXTREME cell.
GROWTH_ZERO = 1e-6
GROWTH_LEAST = 1e-4

#: A sample counts as inside a volume only if it is so by this times the largest coordinate's deviation from the cell's centre,
#: plus the roundoff of its coordinates: hundreds of times what the test's own arithmetic may be off.
GROWTH_SLACK = 1e-13

#: A finer level is skipped below a cell whose volume is at most this times that of its children together, or thinner on
#: average than FLAT_THIN times its width: the tests of four children would cost more than they exclude.
FLAT_VOLUME = 1.25
FLAT_THIN = 1e-3

#: Backward projection works in units of the primitive's own size, where all numbers are of the order of 1. Dimensionless:
#: the edge of the primitive, in u and v, and the ends of the length range are closed and this wide, plus the roundoff of the
#: coordinates times what the projection makes of it, up to PROJECTION_EDGE_MOST.
PROJECTION_EDGE = 1e-12
PROJECTION_EDGE_MOST = 1e-6

#: Lengths up to this many sizes are searched as they are, longer ones by their reciprocal; those beyond 1 / PROJECTION_FAR
#: are not told from infinity.
PROJECTION_NEAR = 4.0
PROJECTION_FAR = 1e-13

#: A root is bracketed until a step is below this fraction of its interval, a root that is alone in it until below the second;
#: Newton's method on (u, v, length) goes on from there. Within at most this many steps (a count; halving alone takes 50).
PROJECTION_BRACKET = 1e-9
PROJECTION_ALONE = 1e-5
PROJECTION_STEPS = 100

#: The alpha triangle collapses where its area is below this fraction of the product of its sides' terms: a root there comes
#: with an error of a few roundoffs of the length, and the area vanishes with it.
PROJECTION_COLLAPSE = 1e-13

#: Newton's steps end when the point is reproduced to this (some roundoffs); an answer that does not reproduce it to the
#: second is none.
PROJECTION_POLISH = 16.0 * UNIT_ROUNDOFF
PROJECTION_RESIDUAL = 1e-10

#: Two lengths closer than this are one solution: roundoff splits a double root by the square root of itself, times a few.
PROJECTION_DISTINCT = 1e-6

#: Most steps of the paper's Newton method (a count), and the relative step at which it has converged. It takes three to ten.
PROJECTION_NEWTON_STEPS = 50
PROJECTION_NEWTON_STEP = 1e-12

#: The paper's BFGS: most iterations, most halvings of a step in the line search (counts), the part of the expected decrease
#: that a step must bring, and the largest first step over the gradient (the least is its reciprocal).
BFGS_STEPS = 200
BFGS_HALVINGS = 80
BFGS_DECREASE = 1e-4
BFGS_FIRST = 2.0**40

#: It ends where the direction passes the point within the first of these (in units of the sizes) or where the gradient is below
#: the second; what is then not within the third is a minimum that is no solution.
BFGS_RESIDUAL = 1e-13
BFGS_GRADIENT = 1e-14
BFGS_SOLUTION = 1e-9

#: Cells of (u, v, length) that the inverse of a quadrilateral looks at, at most, and the halvings of one before Newton's method
#: has the last word (counts). A generic point in a short range takes one cell; folds some hundred.
BILINEAR_CELLS = 4096
BILINEAR_HALVINGS = 30

#: Points at which a field is asked at once when a surface is made from it (a count; 6 MB of coordinates).
FIELD_BLOCK = 2**18

#: Most nodes of the grid over which a field is searched for its surface (a count: some minutes for a simple field), and most
#: samples of the map of one made surface (4 GB).
NET_NODES = 2**30
MADE_SAMPLES = 2**30

#: Tracing from the base to the original: steps a cell by which the surface is bracketed, cells that are searched, and the
#: tolerance of a length as a part of the cell: below the float32 resolution of lengths up to a cell.
TRACE_STEPS = 16
TRACE_REACH = 1.0
TRACE_TOLERANCE = 1e-8

#: Cosines between directions and the normals of primitives at their vertex, when a surface is made. Directions below the goal
#: are turned; where even the least cannot be had, the base mesh is smoothed. Lengths grow as 1 / cosine.
FACING_GOAL = 0.3
FACING_LEAST = 0.05

#: Where a line meets a bilinear patch: Newton's method ends when a step moves by less than this in (a, b) of the patch,
#: whose sides are 1, and gives up after so many steps. It starts within the patch or beside it and squares its error each
#: step.
PATCH_NEWTON = 1e-12
PATCH_STEPS = 16

#: A patch is cut into 2 x 2 this often (a count) to tell whether something touches it: its pieces leave their bounding
#: tetrahedra by at most 1/64 of what the patch does. A piece that leaves it by less than PATCH_FLAT of the patch's size
#: is not cut.
PATCH_CUTS = 3
PATCH_FLAT = 1e-5

#: A ray meets a bilinear patch up to this far beyond its borders, in (u, v) of the patch, whose sides are 1: no ray slips
#: between two.
PATCH_RAY_EDGE = 1e-9

#: Objects of up to so many vertices (a count) are tested against a displaced surface the plain way: below it the bounding
#: volumes cost more than the backward projections they save. By `python -m reproductions yang`, Section 5.1.1: the ways cross
#: at about 60 vertices for a single hull and at about 20 for compounds of boxes. Between them no count suits both: with this
#: one boxes of 32 vertices take up to 1.25 times the faster way's time, hulls of 48 up to 1.1 times; with a count of 48 boxes
#: would take up to 1.7 times.
PLAIN_VERTICES = 32

#: A shape that turns has touched a displaced surface when they are nearer than this part of their sizes; conservative
#: advancement gives up after so many steps (a count): along a surface it gains little a step.
SURFACE_CAST_GAP = 1e-7
SURFACE_CAST_STEPS = 512

#: Heights of a part and of a volume along one direction are compared with this part of them to spare: above what GJK calls
#: touching.
HEIGHT_SLACK = 1e-9

#: A direction of a displaced surface must leave its primitives by more than this sine: along them lengths say nothing.
FACING_FLAT = 1e-9

#: Crossings of a path and a collider (`crossings/roots.py`). A polynomial whose value at an extreme is below this part of its
#: terms' magnitudes only touches zero: double-double values are right to some 1e-31 of them, and an extreme that is off by
#: roundoff shows by its square.
ROOT_TOUCH = 1e-29

#: Most steps of a bracketed root (a count): Newton's method takes about six, halving alone some hundred. The farthest root
#: that is looked for, in seconds, when a particle lives for ever: its fourth power is still a number.
ROOT_STEPS = 400
ROOT_FARTHEST = 1e75

#: A polygon's vertices lie in one plane if they are within this part of its size of it: loose, since corners come rounded
#: to float32 from files.
PLANAR_POLYGON = 1e-6

#: Closed bounds of a collider reach this part of its size and of its distance from the origin beyond it: a path through the
#: edge between two of them hits one, whatever way its point is rounded. Boxes of elements are wider by more than that.
BOUNDS_SLACK = 1e-13
ELEMENT_BOX_SLACK = 1e-12

#: A particle starts on a surface if it is no farther from it than this times the largest coordinate of its place and of the
#: collider: what the evaluation of its place has lost.
START_ROUNDOFF = 128.0 * UNIT_ROUNDOFF

#: A particle that would leave a collider along its normal more slowly than this, m/s, rests: under gravity
#: its hop would be 50 nm high and take 0.2 ms, and the next one less.
RESTING_SPEED = 1e-3

#: Paths of particles and boxes (`crossings/path_box.py`). Boxes are widened by this times the sum of the magnitudes in a
#: coordinate of the path, start, pose and collider included: it is evaluated by some ten operations, and the time at which it
#: comes to a bound by as many.
PATH_SLACK = 64.0 * UNIT_ROUNDOFF

#: The end of the search lies where a path has left the box of the collider, widened by this part of it, for good: many times
#: the roundoff.
PATH_MARGIN = 1e-9

#: START_ROUNDOFF for the collider that a particle has just left: its place was computed by a flight that may have come from
#: far away.
START_SAME = 2.0**-40

#: Velocities run along a surface when they leave it by less than this sine; then a particle on it does not pass through.
START_SLOPE = 64.0 * UNIT_ROUNDOFF

#: A path meets a triangle up to this far beyond its edges, times the magnitudes in a coordinate of the path: more than the
#: roundoff of the point where it meets the plane, so that it never slips between two triangles.
TRIANGLE_EDGE = 32.0 * UNIT_ROUNDOFF

#: A triangle whose normal is shorter than this part of the product of its two edges has no area; double-doubles would make one
#: of their roundoff.
TRIANGLE_FLAT = 2.0**-96

#: A mode of a struck material whose amplitude (full scale is 1) has fallen below this is silent from then on. Of no
#: consequence to any ear or file, and far above the denormal numbers (below 2e-308), whose arithmetic is slow. Absolute, since
#: the range of float64 is.
SOUND_SILENCE = 1e-150

#: Samples between looks for silent modes (a count), on a fixed grid, so that the samples do not depend on the blocks. In 64
#: samples a mode that matters does not fall from SOUND_SILENCE to the denormals: that takes a damping of 5 a sample.
SOUND_FRAME = 64

#: A sound that begins in the middle of a storm hears earlier impacts until they have fallen by so many decibels: 20 below the
#: 100 that are promised, since many tails add up.
SOUND_WARM_DECIBELS = 120.0

#: Peak of a file written with gain="auto", as a fraction of full scale: one decibel is left, since a player that resamples may
#: exceed the samples' own peak.
SOUND_HEADROOM = 10.0 ** (-1.0 / 20.0)

#: Blobs (`crossings/blob_path.py`). Cells of time are halved down to this part of the time that a path spends within reach of
#: the balls: two crossings closer to each other than that may be taken for none.
BLOB_RESOLUTION = 2.0**-40

#: Nor are cells halved further over which h changes by no more than this many times the roundoff of one value: halves would
#: tell no more. Values with 32 digits are right to the other part.
BLOB_NOISE = 4.0
BLOB_EXACT = 1e-29

#: Most cells of one search (a count): a generic one takes ten to fifty, a touch some hundred. Then the answer is a lower bound.
BLOB_CELLS = 8192

#: Most steps of Newton's method in a bracket (a count); it takes about six, halving alone some fifty.
BLOB_STEPS = 200

#: Tiles of an atlas of an impact map: coordinates (from 0 to 1) keep this far from the border to the next tile, so that no
#: roundoff puts an impact into it; far below any pixel.
TILE_MARGIN = 1e-12

#: The float64 filter of elementary colliders. Roundoff of a coefficient of h, times the sum of its terms' magnitudes: up to
#: sixteen operations. Times this close to each other, relatively, are not told apart by it. A crossing whose error is proven
#: below FILTER_ERROR of it needs no more digits: a tenth of the accuracy that is promised.
FILTER_ROUNDOFF = 16.0 * UNIT_ROUNDOFF
FILTER_CLOSE = 1e-9
FILTER_ERROR = 1e-13

#: Most steps of the filter's search for the first root of a quartic (a count): a simple one takes four to eight.
FILTER_STEPS = 16

#: Paths and bilinear patches (`crossings/patch_path.py`). A path meets a patch up to this far beyond its borders, in (a, b) of
#: the patch, whose sides are 1: many times the roundoff of a and b, so that no path slips between two.
PATH_PATCH_EDGE = 1e-11

#: Cells smaller than this part of the patch and of the way past it are not halved: Newton's method decides.
PATCH_RESOLUTION = 2.0**-36

#: The root that it finds there may lie this part of the patch beside the cell: roundoff where path and patch meet flat.
PATCH_NEAR = 1e-9

#: Below this sine between path and patch a cell is halved, not shrunk: the inverse of the Jacobian is no help.
PATCH_TOUCH = 1e-9

#: A cell that shrank to less than this fraction along any side is looked at again; else it is halved.
PATCH_GAIN = 0.7

#: Most cells of one search (a count): a generic crossing takes two or three, a touch some hundred. Then the answer is a lower
#: bound.
PATCH_CELLS = 4096

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

#: The box that covers a surface or a mesh is wider by this part of its coordinates: what touches the shape touches its cover,
#: and the cover of a flat shape has a volume.
COVER_ROOM = 1e-9

#: A reach, a distance of points that rounding may have made too small, is widened by this part: some thousand roundings.
REACH_ROUNDING = 1e-12

#: Two crossings of a ray with patches that share an edge are one if they lie closer than this part of the surface's size and of
#: the way there: their distances differ by rounding alone.
CROSSING_GAP = 1e-9

#: Points of a contact patch that are closer to each other than this part of the patch are one: they say the same.
SPREAD_LEAST = 1e-6
