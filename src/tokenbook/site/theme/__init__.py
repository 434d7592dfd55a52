"""The look of every page: templates, style, script, cuts of the theme."""
