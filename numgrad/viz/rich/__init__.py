"""How notebooks show things: the HTML of tensors, modules, profiles and the like, each in a file of its own."""
