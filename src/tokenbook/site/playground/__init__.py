"""Every algorithm trains in the reader's browser; two settings side by side."""
