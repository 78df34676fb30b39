"""A small office to try the tools on: the ferry to Holm Island, in November 2026."""
