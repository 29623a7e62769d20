"""Classes that make up profiles, under PyTorch's path."""

from .profiler.event_list import EventList
from .profiler.events import Compilation, FunctionEvent, FunctionEventAvg, Interval

__all__ = ["Compilation", "EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]
