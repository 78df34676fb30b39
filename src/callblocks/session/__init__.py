"""A turn, from what the person says to the answer: model, parser, runtime, timeline."""
