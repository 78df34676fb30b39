"""HTTP to public addresses only."""
