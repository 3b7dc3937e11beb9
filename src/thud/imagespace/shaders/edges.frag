// A pixel of an edge: its depth by the rules of raster.py, whatever the driver's own. Passes 1 and 4.

flat in ivec4 line;
flat in vec2 depths;
flat in int edge;
flat in int end;

uniform int ends;
uniform int behind;   // 1: only behind the last layer
uniform int identify; // 1: only the edge that wrote the pixel
uniform isampler2D last_owner; // of the last layer
uniform sampler2D last_depth;
uniform isampler2D owner;

layout(location = 0) out int colour;

void main() {
    ivec2 pixel = ivec2(floor(gl_FragCoord.xy));
    // The edge where it crosses this column of centres, or this row if it is steep.
    ivec4 l = line;
    ivec2 run = abs(l.zw - l.xy), p = pixel;
    if (run.y > run.x) {
        l = l.yxwz;
        p = p.yx;
    }
    vec2 z = depths;
    if (l.x > l.z) {
        l = l.zwxy;
        z = z.yx;
    }
    int center = p.x * SUBPIXEL_INT + SUBPIXEL_INT / 2;
    bool crosses = l.x != l.z && center >= l.x && center <= l.z;
    float part = float(center - l.x) / float(l.z - l.x);
    float depth = crosses ? z.x + part * (z.y - z.x) : 2.0;
    if (ends != 0) {
        int row = int(floor((float(l.y) + part * float(l.w - l.y)) / SUBPIXEL));
        depth = min(row == p.y ? depth : 2.0, depths[end]);
    }
    if (depth < 0.0 || depth > 1.0) discard;
    if (behind != 0 && (texelFetch(last_owner, pixel, 0).x < 0 || depth <= texelFetch(last_depth, pixel, 0).x)) discard;
    if (identify != 0 && texelFetch(owner, pixel, 0).x != edge) discard;
    gl_FragDepth = depth;
    colour = edge;
}
