// Ends of edges: as lines, or each as a point in the middle of its pixel.

layout(std430, binding = 0) readonly buffer Points { ivec4 points[]; }; // x, y in parts of a pixel; depth as bits; 0
layout(std430, binding = 1) readonly buffer Edges { ivec2 edges[]; };

uniform ivec2 size; // pixels
uniform int ends;   // 1: points

flat out ivec4 line;  // x, y of both ends
flat out vec2 depths; // of both ends
flat out int edge;
flat out int end;     // 0 or 1: this point

void main() {
    edge = gl_VertexID >> 1;
    end = gl_VertexID & 1;
    ivec4 a = points[edges[edge].x], b = points[edges[edge].y];
    line = ivec4(a.xy, b.xy);
    depths = intBitsToFloat(ivec2(a.z, b.z));
    ivec2 here = end == 0 ? a.xy : b.xy;
    vec2 at = ends == 0 ? vec2(here) / SUBPIXEL : vec2(here >> SUBPIXEL_BITS) + 0.5;
    gl_Position = vec4(2.0 * at / vec2(size) - 1.0, 0.0, 1.0);
}
