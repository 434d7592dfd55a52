"""The programs that `make` runs: environment, site, PDF, EPUB, measures."""
