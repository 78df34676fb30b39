"""Sessions over HTTP: chats, timelines, artifacts and approvals for programs and pages."""
