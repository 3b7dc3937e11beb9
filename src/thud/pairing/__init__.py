"""Who answers which query for which shapes: families, the table, and what all pairs share."""
