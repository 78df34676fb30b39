"""A turn as clients of user interfaces read it; one folder for each protocol."""
