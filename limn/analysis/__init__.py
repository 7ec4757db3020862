"""What passes ask about IR without changing it."""
