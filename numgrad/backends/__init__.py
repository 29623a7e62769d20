"""What PyTorch's programs ask of the libraries that PyTorch computes with, and set of them.

numgrad has kernels of its own: what is set here is remembered, so that it can be asked for, and changes no result.
"""

from . import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
