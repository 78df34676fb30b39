"""Shapes that dialects have in common: a dialect gives markers, keys and quirks to one of them."""
