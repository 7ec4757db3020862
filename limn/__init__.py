"""limn: a deep learning framework made to be read."""
