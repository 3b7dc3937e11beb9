"""What collides in an assembly: the check, its rules, and reports of it as a table, JSON, CSV, BCF, HTML and pictures."""
