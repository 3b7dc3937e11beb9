// Pixels whose sum of weights is not 0.

uniform isampler2D sums;

void main() {
    if (texelFetch(sums, ivec2(floor(gl_FragCoord.xy)), 0).x == 0) discard;
}
