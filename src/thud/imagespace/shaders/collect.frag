// Pass 7 for all objects that hold an edge: faces in front of it are written down.

layout(early_fragment_tests) in;
layout(std430, binding = 2) buffer Found { uint count; uint unused; ivec2 found[]; };
layout(std430, binding = 5) readonly buffer KeptNumbers { uint numbers[]; };

uniform ivec2 size;

void main() {
    uint k = atomicAdd(count, 1u);
    ivec2 pixel = ivec2(floor(gl_FragCoord.xy));
    int triangle = int(numbers[gl_PrimitiveID]);
    if (k < uint(found.length())) found[k] = ivec2(pixel.y * size.x + pixel.x, gl_FrontFacing ? triangle : ~triangle);
}
