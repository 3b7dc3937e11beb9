// Pass 7 for all objects that hold an edge: pixels whose count was not 0 are written down.

layout(early_fragment_tests) in;
layout(std430, binding = 2) buffer Found { uint count; uint unused; ivec2 found[]; };

uniform int number;
uniform ivec2 size;

void main() {
    uint k = atomicAdd(count, 1u);
    ivec2 pixel = ivec2(floor(gl_FragCoord.xy));
    if (k < uint(found.length())) found[k] = ivec2(pixel.y * size.x + pixel.x, gl_FrontFacing ? number : ~number);
}
