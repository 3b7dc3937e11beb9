"""What impacts sound like."""
