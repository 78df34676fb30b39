"""What is shown: pure functions of events, and of text, to something for a person or a client."""
