"""``torch.backends``: settings of the libraries that PyTorch computes with.

They are kept so that programs for PyTorch run, but they do not affect numgrad, which has its own kernels.
"""

from . import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
