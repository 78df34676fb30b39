"""Dialects: one file per way of writing tool calls as text, and the table of all of them."""

from callblocks.dialects.table import dialects

__all__ = ("dialects",)
