// One triangle over all pixels.

void main() { gl_Position = vec4(vec2((gl_VertexID & 1) * 4 - 1, (gl_VertexID >> 1) * 4 - 1), 0.0, 1.0); }
