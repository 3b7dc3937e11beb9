// Edges: which pixels one covers, and at what depth, by the rules of raster.py. Passes 1 and 4. One invocation an edge.

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Points { ivec4 points[]; }; // x, y in parts of a pixel; depth, a double's bits
layout(std430, binding = 1) readonly buffer Edges { ivec2 edges[]; };
layout(std430, binding = 2) buffer Drawn { uint drawn; };
layout(r32i, binding = 0) uniform iimage2D nearest_out; // bits of the nearest edge's depth
layout(r32i, binding = 1) uniform iimage2D first_out;   // the first edge there

uniform ivec2 size; // pixels
uniform int first_edge;
uniform int last_edge;
uniform int behind; // 1: only behind the last layer
uniform int turn;   // 0: depth of the nearest; 1: the first edge of that depth
uniform isampler2D last_owner; // of the last layer
uniform sampler2D last_depth;

uint fragments = 0u; // pixels of the view

void put(ivec2 pixel, double z, int edge) {
    if (any(lessThan(pixel, ivec2(0))) || any(greaterThanEqual(pixel, size))) return;
    fragments++;
    float depth = float(z);
    if (!(depth >= 0.0 && depth <= 1.0)) return;
    if (behind != 0 && (texelFetch(last_owner, pixel, 0).x < 0 || depth <= texelFetch(last_depth, pixel, 0).x)) return;
    // Bits of positive floats have the order of their numbers; -0 is 0.
    int bits = floatBitsToInt(abs(depth));
    if (turn == 0) {
        if (bits < imageLoad(nearest_out, pixel).x) imageAtomicMin(nearest_out, pixel, bits);
    } else if (bits == imageLoad(nearest_out, pixel).x) imageAtomicMin(first_out, pixel, edge);
}

void draw(int edge) {
    ivec4 a = points[edges[edge].x], b = points[edges[edge].y];
    ivec2 parts = size * SUBPIXEL_INT;
    if (any(lessThan(max(a.xy, b.xy), ivec2(0))) || any(greaterThanEqual(min(a.xy, b.xy), parts))) return;
    double z0 = packDouble2x32(uvec2(a.zw)), z1 = packDouble2x32(uvec2(b.zw));
    put(a.xy >> SUBPIXEL_BITS, z0, edge);
    put(b.xy >> SUBPIXEL_BITS, z1, edge);
    // Where it crosses columns of centres, or rows if it is steep.
    ivec4 l = ivec4(a.xy, b.xy);
    bool steep = abs(l.w - l.y) > abs(l.z - l.x);
    if (steep) l = l.yxwz;
    if (l.x > l.z) {
        l = l.zwxy;
        double z = z0;
        z0 = z1;
        z1 = z;
    }
    const int half_pixel = SUBPIXEL_INT / 2;
    int begin = max((l.x + half_pixel - 1) >> SUBPIXEL_BITS, 0);
    int end = min((l.z - half_pixel) >> SUBPIXEL_BITS, (steep ? size.y : size.x) - 1);
    if (l.x != l.z && begin <= end) {
        precise double slope = double(l.w - l.y) / double(l.z - l.x), fall = (z1 - z0) / double(l.z - l.x);
        for (int x = begin; x <= end; x++) {
            double run = double(x * SUBPIXEL_INT + half_pixel - l.x);
            precise double at = double(l.y) + run * slope, z = z0 + run * fall;
            int y = int(floor(at / double(SUBPIXEL_INT)));
            put(steep ? ivec2(y, x) : ivec2(x, y), z, edge);
        }
    }
}

void main() {
    int edge = first_edge + int(gl_GlobalInvocationID.x);
    if (edge < last_edge) draw(edge);
    if (turn == 0 && fragments > 0u) atomicAdd(drawn, fragments);
}
