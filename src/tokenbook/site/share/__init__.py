"""The reader assigns credit for one score, and compares it with the measured one."""
