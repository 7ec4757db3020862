"""Printers from the nest dialect to program text."""
