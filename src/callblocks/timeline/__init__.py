"""What happened, kept: blocks in an append-only log, artifacts, sources, and how to read them."""
