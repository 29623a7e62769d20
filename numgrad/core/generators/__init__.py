"""Generators of random numbers: one kind for each kind of device."""

from .generator import Generator as Generator
from .philox import Philox as Philox
from .twister import MersenneTwister as MersenneTwister
