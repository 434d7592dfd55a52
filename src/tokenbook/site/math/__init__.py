"""Formulas become HTML while the book is built; nothing is loaded from elsewhere."""
