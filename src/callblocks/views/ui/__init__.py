"""A turn as an AI SDK client reads it."""
