// The nearest edge of each pixel into depth and colour. Pass 1.

uniform isampler2D nearest;
uniform isampler2D first;

layout(location = 0) out int colour;

void main() {
    ivec2 pixel = ivec2(floor(gl_FragCoord.xy));
    int bits = texelFetch(nearest, pixel, 0).x;
    if (bits == 0x7FFFFFFF) discard;
    gl_FragDepth = intBitsToFloat(bits);
    colour = texelFetch(first, pixel, 0).x;
}
