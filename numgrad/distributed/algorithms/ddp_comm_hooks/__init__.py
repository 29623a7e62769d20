"""``torch.distributed.algorithms.ddp_comm_hooks``: ways to reduce gradients for ``DistributedDataParallel``."""
