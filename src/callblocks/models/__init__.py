"""Language models: what they are asked, and their text as it arrives."""
