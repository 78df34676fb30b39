"""What a model reads again and hides: paths, sources, skills, placeholders."""
