"""``autocast`` and ``GradScaler``."""

import pytest

import numgrad as torch


def test_autocast_that_is_not_enabled_changes_nothing():
    @torch.autocast("cpu", enabled=False)
    def double(x):
        return x * 2

    assert double(torch.ones(2)).dtype is torch.float32
    with torch.autocast(device_type="cpu", dtype=torch.float32):
        assert (torch.ones(2) + 1).dtype is torch.float32
        assert not torch.is_autocast_enabled("cpu")


def test_autocast_says_what_there_is_not():
    with pytest.raises(NotImplementedError, match="float16 or bfloat16, which it has not yet"):
        torch.autocast("cpu")
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
