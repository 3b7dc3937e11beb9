"""Characters: ellipsoids that walk through a world ([Slides], "Typical implementation in FPS")."""
