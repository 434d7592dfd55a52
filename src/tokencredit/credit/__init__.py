"""Credit 信用分配: from rewards to one advantage per token."""
