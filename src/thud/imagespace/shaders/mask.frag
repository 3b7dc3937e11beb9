// Pixels without an edge: nothing is in front of depth 0.

uniform isampler2D owner;

void main() {
    if (texelFetch(owner, ivec2(floor(gl_FragCoord.xy)), 0).x >= 0) discard;
    gl_FragDepth = 0.0;
}
