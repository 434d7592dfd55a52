"""Finds sections by what they say, in both languages, from a field on every page."""
