"""The input of a call as growing JSON, whatever dialect it is written in."""
