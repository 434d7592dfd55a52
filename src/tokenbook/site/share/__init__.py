"""The reader shares out one score, and sees how close to the measured one it is."""
