"""What particles hit."""
