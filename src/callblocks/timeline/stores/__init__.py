"""Where blocks are kept: a hash-chained log in SQLite or PostgreSQL, checked and exported."""
