"""One module for each command; a group of commands has its table in the module of its name."""
