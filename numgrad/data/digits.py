"""Handwritten digits, small enough to train on in seconds.

The images are the test set of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak, 1998,
UCI Machine Learning Repository, https://doi.org/10.24432/C50P49, under the licence CC BY 4.0. The values are
those that scikit-learn distributes; only the file format was changed. The licence notice is in ``digits.LICENSE.txt``.
"""

from importlib import resources

import numpy as np

from ..ops.creation.from_data import from_numpy
from ..utils.data import TensorDataset

__all__ = ["digits", "load_digits"]


def load_digits() -> tuple[np.ndarray, np.ndarray]:
    """The 1797 images and the digits they show.

    Returns:
        images: uint8 [1797, 8, 8], from 0 (paper) to 16 (ink).
        labels: uint8 [1797], the digits 0 to 9.
    """
    with resources.files(__package__).joinpath("digits.npz").open("rb") as file, np.load(file) as arrays:
        return arrays["images"], arrays["labels"]


def digits() -> TensorDataset:
    """The 1797 digits as pairs of an image, float32 [8, 8] from 0 to 1, and its label, an int64 from 0 to 9."""
    images, labels = load_digits()
    return TensorDataset(from_numpy(images.astype(np.float32) / 16), from_numpy(labels.astype(np.int64)))
