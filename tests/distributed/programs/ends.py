"""Ends of single ranks, which end the others: run by ``test_distributed.py`` with two ranks."""

import os
import signal
import sys

import numgrad.distributed as dist

end = sys.argv[1] if os.environ["RANK"] == "1" else ""
if end == "error":  # before MPI's communication begins
    raise ValueError("this rank has no data")
dist.init_process_group()
if end == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if end == "return":
    sys.exit()
dist.barrier()
