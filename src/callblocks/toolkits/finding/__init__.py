"""Finding: files of the workspace in an index of their words, and the web by adapters."""
