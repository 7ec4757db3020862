"""Interpreters of the dialects: what each op means, as numpy."""
