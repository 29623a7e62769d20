"""``torch.distributed.algorithms``: parts of distributed training."""
