"""Tensors 张量: shapes, checks, masks and log-probs, the ground all stages stand on."""
