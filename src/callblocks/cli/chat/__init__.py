"""A conversation in the terminal, and a run that is written down."""
