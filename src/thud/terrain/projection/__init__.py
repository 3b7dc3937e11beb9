"""Forward and backward projection."""
