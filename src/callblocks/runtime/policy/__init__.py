"""Which calls may run: rules in a file or as values, the first match decides."""
