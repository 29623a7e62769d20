"""The picture of a recorded graph: its boxes and arrows, and the text in them."""
