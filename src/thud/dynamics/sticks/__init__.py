"""Point masses joined by sticks or springs: ropes, cloth, rag dolls ([Slides], "Rigid Body Simulation")."""
