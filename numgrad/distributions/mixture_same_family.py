"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.types import Size
from ..tensors.tensor import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of K components, the distributions along the last dimension of a batch.

    Args:
        mixture_distribution: the distribution of the number of the component, a :class:`Categorical` of K numbers.
        component_distribution: the components.
        validate_args: True to check arguments.

    Raises:
        ValueError: an argument is another kind of distribution, or the batches or numbers of components do not fit.

    Example:
        >>> import numgrad
        >>> d = numgrad.distributions
        >>> weights = d.Categorical(numgrad.tensor([0.5, 0.5]))
        >>> mixture = d.MixtureSameFamily(weights, d.Normal(numgrad.tensor([-1.0, 1.0]), 1.0))
        >>> mixture.mean, mixture.variance
        (tensor(0.), tensor(2.))
    """

    arg_constraints: dict[str, constraints.Constraint] = {}  # noqa: RUF012 - as PyTorch has it

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution,
        validate_args: bool | None = None,
    ):
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical, not "
                f"{type(mixture_distribution).__name__}"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of torch.distributions.Distribution, not "
                f"{type(component_distribution).__name__}"
            )
        mixtures, (*batch, components) = mixture_distribution.batch_shape, component_distribution.batch_shape
        for one, other in zip(reversed(mixtures), reversed(batch), strict=False):
            if one != other and 1 not in (one, other):
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixtures}) is not compatible with "
                    f"`component_distribution.batch_shape`({Size(batch)})"
                )
        if mixture_distribution._num_events != components:
            raise ValueError(
                f"`mixture_distribution component` ({mixture_distribution._num_events}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        super().__init__(batch, component_distribution.event_shape, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        count = self._mixture_distribution._num_events
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._component_distribution = self._component_distribution.expand(Size((*batch_shape, count)))
        return self._finished(new, batch_shape, self._event_shape)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the number of the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components, a batch with one more dimension."""
        return self._component_distribution

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _unsqueezed(self, value: Tensor) -> Tensor:
        """Return the value with a dimension for the components."""
        return value.unsqueeze(value.dim() - len(self._event_shape))

    def _averaged(self, values: Tensor) -> Tensor:
        """Return the mean over the components of something that has the shape of an event."""
        dims = len(self._event_shape)
        probs = self._mixture_distribution.probs
        return (probs.reshape(*probs.shape, *[1] * dims) * values).sum(-1 - dims)

    @property
    def mean(self) -> Tensor:
        return self._averaged(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        components = self._component_distribution
        return self._averaged(components.variance + (components.mean - self._unsqueezed(self.mean)).square())

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            chosen = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            samples = self._component_distribution.sample(sample_shape)
            dim = chosen.dim()
            places = chosen.reshape(*chosen.shape, 1, *[1] * len(self._event_shape))
            return samples.gather(dim, places.expand(*chosen.shape, 1, *self._event_shape)).squeeze(dim)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        log_probs = self._component_distribution.log_prob(self._unsqueezed(value))
        return (log_probs + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def cdf(self, value: Tensor) -> Tensor:
        return (self._component_distribution.cdf(self._unsqueezed(value)) * self._mixture_distribution.probs).sum(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
