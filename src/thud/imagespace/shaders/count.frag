// Nothing but depth and stencil. Passes 2, 3, 5 and 6.

layout(early_fragment_tests) in;

void main() {}
