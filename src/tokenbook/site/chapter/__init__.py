"""Transforms of chapter pages: marks, cards, plots, code, reports."""
