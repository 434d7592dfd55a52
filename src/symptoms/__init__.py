"""Read a training log: its keys in the book's words, and places to look."""
