"""Options that several commands share, and what is opened by them."""
