"""What models get wrong in JSON, read all the same and named; only where the text is over."""
