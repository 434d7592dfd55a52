"""Integrations 别的训练库: the algorithms inside TRL's and verl's trainers."""
