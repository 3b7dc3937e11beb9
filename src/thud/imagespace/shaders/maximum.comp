// The largest colour: of a group of pixels first, then of all groups. 4.5.2.

layout(local_size_x = 16, local_size_y = 16) in;
layout(std430, binding = 2) buffer Maximum { int maximum; };

uniform isampler2D colours;
shared int group_maximum;

void main() {
    if (gl_LocalInvocationIndex == 0u) group_maximum = -1;
    barrier();
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (all(lessThan(pixel, textureSize(colours, 0)))) atomicMax(group_maximum, texelFetch(colours, pixel, 0).x);
    barrier();
    if (gl_LocalInvocationIndex == 0u) atomicMax(maximum, group_maximum);
}
