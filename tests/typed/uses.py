"""Uses of the table's functions and methods, for the type checker, which ``.ci/run`` runs on this file.

Wrong lines are marked: a mark that the type checker does not need is an error.
"""

from typing import assert_type

import numgrad as torch

x = torch.ones(2, 3, requires_grad=True)
assert_type(((x * 2 + 1) @ x.T).sum(dim=0, keepdim=True), torch.Tensor)
assert_type(torch.exp(x).add_(1), torch.Tensor)
assert_type(x.sort(), tuple[torch.Tensor, torch.Tensor])
assert_type(x.grad, torch.Tensor | None)
x.mean(axis=0).sum().backward()

x.no_such_method()  # type: ignore[attr-defined]
torch.no_such_function(x)  # type: ignore[attr-defined]
torch.exp("text")  # type: ignore[arg-type]
