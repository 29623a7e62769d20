"""PyTorch's private functions for Jacobians, by which libraries compute theirs."""

from numgrad import equal, eye, ones
from numgrad.autograd import functional


def test_jacobians_by_private_functions():
    x = ones(2)
    several, tensors = functional._as_tuple(x, "inputs", "jacobian")
    (leaf,) = functional._grad_preprocess(tensors, create_graph=False, need_graph=True)
    assert (several, leaf.requires_grad) == (False, True)
    assert equal(functional._construct_standard_basis_for((x, x[:1]), (2, 1))[1], eye(3)[:, 2:])
    rows = functional._grad_postprocess(((leaf * 2,), (leaf * 3,)), create_graph=False)
    assert not rows[1][0].requires_grad
    assert functional._tuple_postprocess(rows, (True, False))[1].tolist() == [3.0, 3.0]
    assert functional._tuple_postprocess(rows[:1], (False, False)).tolist() == [2.0, 2.0]
    assert functional._tuple_postprocess(rows[0], False).tolist() == [2.0, 2.0]
