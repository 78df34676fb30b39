"""What dialects are built from: markers, the parse loop, blocks, JSON, YAML and grammars."""
