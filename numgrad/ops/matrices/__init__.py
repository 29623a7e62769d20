"""Matrix products and operations made of them."""
