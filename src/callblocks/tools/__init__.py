"""Declaring a tool, checking the input of a call, and the registry of tools."""
