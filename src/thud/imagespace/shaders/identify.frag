// The object that holds an edge. Pass 7.

layout(early_fragment_tests) in;

uniform int number;

layout(location = 0) out int colour;

void main() { colour = number; }
