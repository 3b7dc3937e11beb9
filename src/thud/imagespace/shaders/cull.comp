// Triangles that may be in front of an edge: all others are not drawn by passes 5 to 7. Large ones are kept unseen.

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Corners { float corners[]; };  // 3 each: pixels, depth from 0 to 1
layout(std430, binding = 1) readonly buffer Triangles { uint triangles[]; }; // 3 each
layout(std430, binding = 2) buffer Kept { uint count; };
layout(std430, binding = 4) writeonly buffer KeptTriangles { uint kept[]; }; // 3 each
layout(std430, binding = 5) writeonly buffer KeptNumbers { uint numbers[]; };

uniform ivec2 size; // pixels
uniform int begin;
uniform int end;
uniform sampler2D edge_depth; // 0 where there is no edge

const int MOST_PIXELS = 64;
const float MARGIN = 1.0 / 64.0;         // of a pixel, for drivers that round otherwise
const float DEPTH_MARGIN = 1.0 / 262144.0;

void main() {
    uint t = uint(begin) + gl_GlobalInvocationID.x;
    if (t >= uint(end)) return;
    uvec3 i = uvec3(triangles[3u * t], triangles[3u * t + 1u], triangles[3u * t + 2u]);
    vec3 a = vec3(corners[3u * i.x], corners[3u * i.x + 1u], corners[3u * i.x + 2u]);
    vec3 b = vec3(corners[3u * i.y], corners[3u * i.y + 1u], corners[3u * i.y + 2u]);
    vec3 c = vec3(corners[3u * i.z], corners[3u * i.z + 1u], corners[3u * i.z + 2u]);
    vec3 low = min(min(a, b), c);
    vec2 high = max(max(a.xy, b.xy), c.xy);
    // Pixels whose centres its box holds.
    ivec2 first = ivec2(ceil(clamp(low.xy - (0.5 + MARGIN), vec2(0.0), vec2(size))));
    ivec2 last = ivec2(floor(clamp(high - (0.5 - MARGIN), vec2(-1.0), vec2(size - 1))));
    if (any(greaterThan(first, last))) return;
    ivec2 extent = last - first + 1;
    if (extent.x <= MOST_PIXELS && extent.y <= MOST_PIXELS && extent.x * extent.y <= MOST_PIXELS) {
        bool front = false;
        for (int y = first.y; y <= last.y; y++)
            for (int x = first.x; x <= last.x; x++)
                front = front || texelFetch(edge_depth, ivec2(x, y), 0).x > low.z - DEPTH_MARGIN;
        if (!front) return;
    }
    uint k = atomicAdd(count, 1u);
    kept[3u * k] = i.x;
    kept[3u * k + 1u] = i.y;
    kept[3u * k + 2u] = i.z;
    numbers[k] = t;
}
