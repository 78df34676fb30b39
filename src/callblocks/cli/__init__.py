"""The command `callblocks`: arguments and text in, views out."""
