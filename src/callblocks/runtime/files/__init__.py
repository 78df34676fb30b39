"""Files below one root, and never beside it."""
