"""Many copies of one world, stepped together: `WorldBatch`."""
