"""The questions of all chapters by level, and a page to practise them."""
