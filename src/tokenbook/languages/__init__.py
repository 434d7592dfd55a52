"""A book in several languages from one source: what its pages, checks and site share.

languages   the one table of languages, and ``中文 | English``
pages       notebooks and Markdown pages: which text belongs to which language
code_cells  a code cell whose strings and comments keep one language
typography  Chinese punctuation
glossary    the terms of the course by their id
sources     the files that a part of a page is made from
marks       what an author marks for the reader: setup, checked, predict, holds
parity      python -m tokenbook.languages.parity: do all languages say the same thing?
notebooks   python -m tokenbook.languages.notebooks: stored outputs in step with the code
stamps      what a notebook's outputs depend on
"""
