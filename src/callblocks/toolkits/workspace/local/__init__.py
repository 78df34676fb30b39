"""The office in a folder: what tools change there, ordinary programs can see."""
