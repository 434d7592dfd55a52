"""Full-text search over sections, in both languages, from a field on every page."""
