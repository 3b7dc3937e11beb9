// The edge of a pixel whose stencil is positive: its colour, or one more for its object. Pass 4.

layout(early_fragment_tests) in;
layout(std430, binding = 2) buffer Passed { uint passed[]; };
layout(std430, binding = 3) readonly buffer Starts { int edge_starts[]; };

uniform int objects;
uniform int query; // 1: count
uniform isampler2D owner;

layout(location = 0) out int colour;

void main() {
    colour = texelFetch(owner, ivec2(floor(gl_FragCoord.xy)), 0).x;
    if (query == 0 || colour < 0) return;
    int low = 0, high = objects;
    while (high - low > 1) {
        int middle = (low + high) >> 1;
        if (edge_starts[middle] <= colour) low = middle;
        else high = middle;
    }
    atomicAdd(passed[low], 1u);
}
