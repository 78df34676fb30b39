"""Reading pieces, writing rows, asking the person."""
