"""The picture of a recorded graph: which boxes and arrows it has, and what is written in them."""
