"""Paths through the book, one for each kind of reader, with progress."""
