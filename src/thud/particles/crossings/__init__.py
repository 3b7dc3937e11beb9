"""Where paths cross colliders."""
