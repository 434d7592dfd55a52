"""A chapter as slides, made in the page from its text."""
