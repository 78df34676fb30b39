"""Google Workspace on loopback: each request is checked by Google's own discovery documents."""
