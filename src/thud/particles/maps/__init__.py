"""Impact maps, textures and splats."""
