"""Notation and glossary, written from the rows of `book/glossary.yml`."""
