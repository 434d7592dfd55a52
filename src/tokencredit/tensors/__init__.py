"""Tensors 张量: shapes, checks, masks and log-probs, used by all stages."""
