"""Core classes of the package: the tensor, its layout, its dtype and device, and random generators."""
