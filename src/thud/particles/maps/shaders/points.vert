// An impact as a point at its pixel; where there is none, outside of the viewport. 3.4.2, 3.4.3, 3.5.2.

// place, velocity after, arrival at the place before, normal, velocity of arrival, clock; marks.
struct State { double d[19]; int i[4]; };
layout(std430, binding = 0) readonly buffer Rows { uvec4 rows[]; };
layout(std430, binding = 3) readonly buffer Settings { double settings[]; };    // t0, t1, ... then from 8: speeds, box
layout(std430, binding = 4) readonly buffer Ints { int ints[]; };
layout(std430, binding = 11) readonly buffer States { State states[]; };
layout(std430, binding = 13) readonly buffer Texels { float texels[]; };
layout(std430, binding = 14) readonly buffer TextureSizes { int texture_sizes[]; }; // offset, height, width a collider

uniform ivec2 resolution;   // p, q
uniform ivec2 atlas;        // its pixels
uniform int maps_a_row;
uniform int bytes;          // 1: 8 bits a channel
uniform int by_particle;    // 1: each particle has its own pixels
uniform int texture_depth;
uniform int bilinear;

flat out vec4 record;
flat out vec4 more;

double texel(int offset, int width, int x, int y, int k) { return double(texels[offset + (y * width + x) * texture_depth + k]); }

vec4 texture_of(int collider, dvec2 uv) {
    vec4 result = vec4(0.0);
    int offset = texture_sizes[3 * collider], height = texture_sizes[3 * collider + 1], width = texture_sizes[3 * collider + 2];
    if (offset < 0) return result;
    for (int k = 0; k < texture_depth; ++k) {
        double t;
        if (bilinear == 0) t = texel(offset, width, min(int(uv.x * width), width - 1), min(int(uv.y * height), height - 1), k);
        else {
            double x = clamp(uv.x * width - 0.5LF, 0.0LF, double(width - 1));
            double y = clamp(uv.y * height - 0.5LF, 0.0LF, double(height - 1));
            int i = min(int(x), max(width - 2, 0)), j = min(int(y), max(height - 2, 0));
            int right = min(i + 1, width - 1), above = min(j + 1, height - 1);
            double fx = x - i, fy = y - j;
            t = (1.0LF - fy) * ((1.0LF - fx) * texel(offset, width, i, j, k) + fx * texel(offset, width, right, j, k))
                + fy * ((1.0LF - fx) * texel(offset, width, i, above, k) + fx * texel(offset, width, right, above, k));
        }
        if (bytes != 0) t = floor(clamp(t, 0.0LF, 1.0LF) * 255.0LF + 0.5LF) / 255.0LF;
        result[k] = float(t);
    }
    return result;
}

void main() {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    record = more = vec4(0.0);
    State s = states[gl_VertexID];
    if (s.i[3] == 0) return;
    int collider = ints[s.i[0] * ELEMENT_INTS + COLLIDER];
    double offset = clamp((s.d[16] - settings[0]) / (settings[1] - settings[0]), 0.0LF, 0.9999999403953552LF);
    double speed = length(dvec3(s.d[12], s.d[13], s.d[14]));
    ivec2 pixel;
    if (by_particle != 0) {
        // The pixels of a particle follow one another.
        int at = int(rows[gl_VertexID].x) * (bytes != 0 ? 4 : 1) + gl_InstanceID;
        pixel = ivec2(at % atlas.x, at / atlas.x);
    } else {
        dvec2 uv = dvec2(s.d[17], s.d[18]);
        if (uv.x < 0.0LF) return;
        pixel = min(ivec2(uv * dvec2(resolution)), resolution - 1);
        pixel += resolution * ivec2(collider % maps_a_row, collider / maps_a_row);
        if (texture_depth > 0) more = texture_of(collider, uv);
    }
    if (bytes != 0) {
        double fast = floor(clamp((speed - settings[8]) / (settings[9] - settings[8]), 0.0LF, 1.0LF) * 255.0LF + 0.5LF);
        record = vec4(float(collider + 1), float(floor(offset * 256.0LF)), float(fast), 1.0) / 255.0;
    } else record = vec4(float(collider + 1), float(offset), float(speed), 1.0);
    if (by_particle != 0 && bytes == 0) more = vec4(float(s.d[0]), float(s.d[1]), float(s.d[2]), 0.0);
    if (by_particle != 0 && bytes != 0 && gl_InstanceID > 0) {
        int axis = gl_InstanceID - 1;
        double low = settings[10 + axis], size = settings[13 + axis] - low;
        double part = clamp((s.d[axis] - low) / (size > 0.0LF ? size : 1.0LF), 0.0LF, 1.0LF);
        uint whole = uint(min(floor(part * 16777216.0LF), 16777215.0LF));
        record = vec4(float(whole >> 16), float((whole >> 8) & 255u), float(whole & 255u), 1.0) / 255.0;
    }
    vec2 middle = (vec2(pixel) + 0.5) / vec2(atlas);
    // The depth is the time: the latest stays.
    gl_Position = vec4(2.0 * middle - 1.0, float(2.0LF * offset - 1.0LF), 1.0);
}
