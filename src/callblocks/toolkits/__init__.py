"""The tools that come with callblocks."""
