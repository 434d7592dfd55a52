"""How every page looks: templates, style, script, what the theme brings in vain."""
