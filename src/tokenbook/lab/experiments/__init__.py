"""Experiments 实验: one file each, found by file name; see `tokenbook.lab.store`."""
