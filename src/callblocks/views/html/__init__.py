"""A timeline as one page of HTML: no script, nothing loaded, every text escaped."""
