"""The questions of all chapters by level, with a page that asks them."""
