"""Ways through the book: one for each reader, and what of it is done."""
