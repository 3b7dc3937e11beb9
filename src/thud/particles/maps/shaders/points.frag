// The channels of a point.

flat in vec4 record;
flat in vec4 more;
layout(location = 0) out vec4 channels;
layout(location = 1) out vec4 more_channels;

void main() {
    channels = record;
    more_channels = more;
}
