"""All algorithms in one table, written from `ALGORITHMS`."""
