"""One sheet of all formulas, made for paper."""
