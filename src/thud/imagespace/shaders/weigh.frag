// Passes 5 and 6 of all objects at once: a face in front of a pixel's edge adds its object's weight, a back face takes it off.

layout(early_fragment_tests) in;
layout(std430, binding = 3) readonly buffer Weights { int weights[]; }; // of triangles
layout(std430, binding = 5) readonly buffer KeptNumbers { uint numbers[]; };
layout(r32i, binding = 0) uniform iimage2D sums_out;

void main() {
    int weight = weights[numbers[gl_PrimitiveID]];
    imageAtomicAdd(sums_out, ivec2(floor(gl_FragCoord.xy)), gl_FrontFacing ? weight : -weight);
}
