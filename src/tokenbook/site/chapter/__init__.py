"""What is done to the pages of chapters: marks, cards, plots, code, reports."""
