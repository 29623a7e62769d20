"""Ends of single ranks, which end the others: run by ``test_distributed.py`` with two ranks."""

import os
import signal
import sys
from datetime import timedelta

import numgrad.distributed as dist
from numgrad.multiprocessing import start_processes

end = sys.argv[1] if os.environ["RANK"] == "1" else ""
if end == "error":  # before MPI's communication begins
    raise ValueError("this rank has no data")
if end == "absence":
    sys.exit()
if end == "child":
    start_processes(lambda _: dist.init_process_group(), start_method="fork")
dist.init_process_group(timeout=timedelta(seconds=1) if sys.argv[1] == "absence" else None)
if end == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if end == "return":
    sys.exit()
dist.barrier()
