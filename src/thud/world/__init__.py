"""Many bodies: `World`, its broad, mid and narrow phases, handles and caches."""
