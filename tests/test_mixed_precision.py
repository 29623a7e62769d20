"""``autocast`` and ``GradScaler``."""

import functools

import pytest

import numgrad as torch
from numgrad.utils.checkpoint import checkpoint


def test_autocast_that_is_not_enabled_changes_nothing():
    @torch.autocast("cpu", enabled=False)
    def double(x):
        return x * 2

    assert double(torch.ones(2)).dtype is torch.float32
    with pytest.warns(UserWarning, match="target dtype is not supported"):
        context = torch.autocast(device_type="cpu", dtype=torch.float32)
    with context:
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32
        assert not torch.is_autocast_enabled("cpu")
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'tpu'"):
        torch.autocast("tpu")


def test_scaled_losses_give_the_same_steps():
    plain, scaled = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    optimizers = [torch.optim.SGD([one], lr=0.5) for one in (plain, scaled)]
    for _ in range(3):
        (plain**2).sum().backward()
        optimizers[0].step()
        scaler.scale((scaled**2).sum()).backward()
        scaler.step(optimizers[1])
        scaler.update()
        for optimizer in optimizers:
            optimizer.zero_grad()
    assert torch.equal(plain, scaled)
    assert scaler.get_scale() == 16.0  # it grew after two steps


def test_without_gradients_there_is_no_step():
    optimizer, scaler = torch.optim.SGD([torch.ones(1)], lr=1.0), torch.amp.GradScaler("cpu")
    scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    for factors in ((1.0, 0.5), (2.0, 1.0)):
        with pytest.raises(AssertionError, match=r"factor must be [<>] 1\.0"):
            torch.amp.GradScaler("cpu", 1.0, *factors)


def test_the_scale_stays_a_finite_float32():
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer, scaler = torch.optim.SGD([weight], lr=1.0), torch.amp.GradScaler("cpu", 2.0**126, growth_interval=1)
    for _ in range(3):
        weight.grad = torch.zeros(1)
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 2.0**127


def test_a_step_with_infinite_gradients_is_left_out():
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer, scaler = torch.optim.SGD([weight], lr=1.0), torch.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale((weight * torch.tensor([1.0, float("inf")])).sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called"):
        scaler.unscale_(optimizer)
    assert scaler.step(optimizer) is None
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [1, 1]
    assert scaler.get_scale() == 2.0
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 2.0


def test_a_scaler_that_is_not_enabled_passes_all_through():
    weight = torch.nn.Parameter(torch.ones(2))
    scaler, optimizer = torch.amp.GradScaler("cpu", enabled=False), torch.optim.SGD([weight], lr=1.0)
    loss = weight.sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [0, 0]
    assert scaler.state_dict() == {}


@pytest.mark.parametrize("make", [torch.cuda.amp.autocast, torch.cuda.amp.GradScaler])
def test_without_a_gpu_what_is_for_one_is_switched_off(make, monkeypatch):
    monkeypatch.setattr("numgrad.amp.autocast_mode.is_available", lambda: False)
    monkeypatch.setattr("numgrad.amp.grad_scaler.is_available", lambda: False)
    with pytest.warns(UserWarning, match="CUDA is not available"):
        make()


def test_autocast_converts_operands_by_pytorchs_lists():
    x, layer = torch.ones(2, 2), torch.nn.Linear(2, 2)
    with torch.autocast("cpu"):
        assert torch.is_autocast_enabled("cpu")
        h = layer(x)
        assert h.dtype is (x @ h).dtype is torch.mm(h, x).dtype is torch.bfloat16
        assert torch.nn.functional.conv1d(x[None], torch.ones(1, 2, 1)).dtype is torch.bfloat16
        assert torch.nn.functional.layer_norm(h, (2,), torch.ones(2), torch.ones(2)).dtype is torch.bfloat16
        assert h.exp().dtype is h.sum().dtype is torch.bfloat16
        assert (h + x).dtype is torch.cat([h, x]).dtype is torch.float32
        assert h.prod().dtype is torch.nn.functional.mse_loss(h, x).dtype is torch.float32
        assert torch.nn.functional.cross_entropy(h, torch.tensor([0, 1])).dtype is torch.float32
        assert (x.double() @ x.double()).dtype is torch.float64
        assert torch.nn.GRU(2, 2)(x)[0].dtype is torch.float32
        assert torch.nn.GRU(2, 2)(h)[0].dtype is torch.nn.LSTM(2, 2)(x)[0].dtype is torch.bfloat16
        with torch.autocast("cpu", torch.float16), torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is torch.float32
        with torch.autocast("cpu", torch.float16):
            assert (x @ x).dtype is torch.float16
        assert (x @ x).dtype is torch.bfloat16
    assert (x @ x).dtype is torch.float32  # the same layouts
    with pytest.raises(RuntimeError, match="same dtype"):
        x @ h
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16


def test_leaves_are_converted_once_and_have_gradients_of_their_own_dtype():
    weight = torch.nn.Parameter(torch.tensor([[1 + 2.0**-9, 1.0]]))
    x = torch.ones(3, 2)
    with torch.autocast("cpu"):
        out = torch.nn.functional.linear(x, weight) + torch.nn.functional.linear(2 * x, weight)
    assert out.flatten().tolist() == [6, 6, 6]  # of the rounded weight
    out.sum().backward()
    assert weight.grad.dtype is torch.float32
    assert weight.grad.tolist() == [[9, 9]]
    first, second = [edge[0].next_functions[-1][0] for edge in out.grad_fn.next_functions]
    assert first.next_functions[0][0] is second.next_functions[0][0]  # ToCopyBackward0


@pytest.mark.parametrize("use_reentrant", [True, False])
@pytest.mark.parametrize("in_forward", [True, False])
def test_checkpoints_run_again_in_the_precision_of_forward(use_reentrant, in_forward):
    weight = torch.nn.Parameter(torch.tensor([[1.001, 0.3], [0.7, -1.2]]))

    def gradient(run):
        weight.grad = None
        with torch.autocast("cpu", enabled=in_forward):
            result = run(lambda x: (x @ weight) @ weight, torch.full((1, 2), 0.1, requires_grad=True))
        with torch.autocast("cpu", enabled=not in_forward):
            result.sum().backward()
        assert torch.is_autocast_enabled("cpu") is False
        return weight.grad

    expected = gradient(lambda function, x: function(x))
    assert torch.equal(gradient(functools.partial(checkpoint, use_reentrant=use_reentrant)), expected)


def test_functions_run_as_autocast_prescribes():
    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            assert torch.is_autocast_enabled("cpu")
            a, b = ctx.saved_tensors
            return grad @ b.T, a.T @ grad

    class Wide(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, a):
            assert not torch.is_autocast_enabled("cpu")
            return a @ a

    x = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        out = Product.apply(x, x)
        assert out.dtype is torch.bfloat16
        assert Wide.apply(out.detach()).dtype is torch.float32
    out.sum().backward()
    assert x.grad.tolist() == [[4, 4], [4, 4]]


def test_a_model_of_bfloat16_is_trained():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 2))
    model.bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    x, y = torch.randn(16, 4, dtype=torch.bfloat16), torch.randint(0, 2, (16,))
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert {parameter.grad.dtype for parameter in model.parameters()} == {torch.bfloat16}
