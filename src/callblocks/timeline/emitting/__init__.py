"""How an outcome becomes blocks, by the shape of its tool: one module for each."""
