"""The base class of distributions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

from ..autograd.grad_mode import no_grad
from ..core.types import Size
from ..ops.indexing.checking import holds_everywhere
from ..tensors.tensor import Tensor
from .constraints import Constraint, is_dependent
from .utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution, or a batch of them.

    A sample is of shape ``sample_shape + batch_shape + event_shape``.  A subclass has ``arg_constraints``, the
    constraint of each parameter by its name, and ``support``, the constraint of samples.

    Args:
        batch_shape: the shape of the parameters.
        event_shape: the shape of a sample of a single distribution.
        validate_args: True to check parameters and the values given to methods.  The default is set by
            :meth:`set_default_validate_args`; initially it is True, except under ``python -O``.

    Raises:
        ValueError: a parameter does not satisfy its constraint.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set the default of ``validate_args`` for distributions created from now on.

        Raises:
            ValueError: ``value`` is neither True nor False.
        """
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args expects True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Sequence[int] = Size(), event_shape: Sequence[int] = Size(),
        validate_args: bool | None = None,
    ):
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()  # of a class that follows in a subclass, such as Module

    def _check_parameters(self) -> None:
        try:
            constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return
        for name, constraint in constraints.items():
            computed = name not in vars(self) and isinstance(getattr(type(self), name, None), lazy_property)
            if is_dependent(constraint) or computed:
                continue
            value = getattr(self, name)
            if not holds_everywhere(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    # -- shapes and sets --

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch: that of the parameters, if an event is a single number."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a sample of a single distribution: () if it is a number."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """The constraint of each tensor parameter, by its name."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint of samples."""
        raise NotImplementedError

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """Return the distributions in a larger batch, with parameters that are views of these.

        Raises:
            NotImplementedError: a subclass defines ``__init__`` but not ``expand``.
        """
        raise NotImplementedError

    def _expanded(self, cls: type[Distribution], batch_shape: Sequence[int], instance: Any) -> Any:
        """Expand a distribution whose parameters are those in the ``arg_constraints`` of ``cls``."""
        new, batch_shape = self._get_checked_instance(cls, instance), Size(batch_shape)
        names: Any = cls.arg_constraints if isinstance(cls.arg_constraints, dict) else self.arg_constraints
        for name in names:
            if name in vars(self):
                value = vars(self)[name]
                setattr(new, name, value.expand((*batch_shape, *value.shape[len(self._batch_shape):])))
        return self._finished(new, batch_shape, self._event_shape)

    def _finished(self, new: Any, batch_shape: Sequence[int], event_shape: Sequence[int]) -> Any:
        """Return ``new``, initialized without checks because its parameters come from this distribution."""
        Distribution.__init__(new, batch_shape, event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: type[Distribution], _instance: Any = None) -> Any:
        """Return ``_instance``, or an uninitialized instance of this class for ``expand`` of ``cls`` to set up."""
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _extended_shape(self, sample_shape: Sequence[int] = Size()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    # -- moments --

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable sample."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def entropy(self) -> Tensor:
        """Return the entropy in nats, of shape ``batch_shape``."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Return e to the power of the entropy, of shape ``batch_shape``."""
        return self.entropy().exp()

    # -- samples --

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Return random samples, of shape ``sample_shape + batch_shape + event_shape``, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Return random samples that are differentiable functions of the parameters (if ``has_rsample``)."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Return ``sample((n,))``, with a FutureWarning."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", category=FutureWarning, stacklevel=2
        )
        return self.sample((n,))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all possible samples along a new first dimension, expanded to ``batch_shape`` or broadcastable."""
        raise NotImplementedError

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """Return the values along a first dimension, expanded to ``batch_shape`` or broadcastable with it."""
        count, event = values.shape[0], self._event_shape
        values = values.view(count, *[1] * len(self._batch_shape), *event)
        return values.expand(count, *self._batch_shape, *event) if expand else values

    # -- probabilities --

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log-probability, or log-density, of the value.

        Raises:
            ValueError: the shape does not fit, or the value is not in the ``support``.
        """
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability that a sample is at most ``value``."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """Return the quantile of the probability ``value``."""
        raise NotImplementedError

    def _check_sample(self, value: Tensor) -> None:
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Tensor) -> None:
        """Raise unless the value is a possible sample.

        Raises:
            ValueError: it is not a tensor, its shape does not fit, or it is not in the ``support``.
        """
        if not isinstance(value, Tensor):
            raise ValueError(f"The value argument to log_prob must be a Tensor, not {type(value).__name__}")
        shape, event = value.shape, self._event_shape
        if shape[len(shape) - len(event):] != event:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {event}.")
        expected = self._extended_shape()
        for size, expected_size in zip(reversed(shape), reversed(expected), strict=False):
            if size != expected_size and 1 not in (size, expected_size):
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not holds_everywhere(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        values = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        texts = [f"{name}: {value if value.numel() == 1 else value.shape}" for name, value in values.items()]
        return f"{type(self).__name__}({', '.join(texts)})"
