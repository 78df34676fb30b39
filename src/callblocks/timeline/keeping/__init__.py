"""Files that are kept: by their digest, of a type that is told, whole or refused."""
