"""Weight 权重, from advantages to a loss: ratios, clips, KL penalties, aggregation."""
