"""What a model is shown of a timeline: parts of a message, with markers made harmless."""
