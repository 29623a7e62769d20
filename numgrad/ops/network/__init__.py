"""What neural networks are made of besides: losses, normalization, dropout, attention."""
