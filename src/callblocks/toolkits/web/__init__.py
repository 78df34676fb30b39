"""The web: searching it by engines, and reading its pages."""
