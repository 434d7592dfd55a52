"""Token Credit (词元的功劳): policy gradients for LLMs, from REINFORCE to GSPO."""
