"""Other engines 别的训练器: the algorithms inside the trainers of the field."""
