// A corner of a triangle.

in vec3 point; // pixels, depth from 0 to 1

uniform ivec2 size; // pixels

void main() { gl_Position = vec4(2.0 * point.xy / vec2(size) - 1.0, 2.0 * point.z - 1.0, 1.0); }
