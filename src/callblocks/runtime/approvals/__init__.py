"""What a person allowed: durable, bound to the exact call, used once."""
