"""Real clients talk through the gateway: each runs its own tool, and gets the answer."""
