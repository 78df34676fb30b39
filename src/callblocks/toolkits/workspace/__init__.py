"""Mail, files, events, documents, sheets and tasks: one interface, a local and a Google backend."""
