"""How other parsers' own cases are read here. Their folder is not part of the project."""
