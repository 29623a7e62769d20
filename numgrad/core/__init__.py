"""What everything else is made of: the tensor, its layout, its dtype and device, and random generators."""
