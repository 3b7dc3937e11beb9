"""Bounding planes, maps and volumes of displaced surfaces."""
