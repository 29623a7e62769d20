"""Further building blocks of neural networks: losses, normalization, dropout, attention."""
