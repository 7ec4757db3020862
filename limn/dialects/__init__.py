"""The three dialects, from tensors to loops: ``graph``, ``schedule``, ``nest``."""
