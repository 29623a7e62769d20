"""Reading and writing chosen elements."""
