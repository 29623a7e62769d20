"""Training in mixed precision gives PyTorch's losses, up to the rounding of single operations."""

import importlib

import pytest

pytestmark = pytest.mark.torch


def classifier(torch):
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.ReLU(), torch.nn.Linear(16, 3)
    )
    x, y = torch.randn(32, 8), torch.randint(0, 3, (32,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return model, optimizer, x, lambda out: torch.nn.functional.cross_entropy(out, y)


def images(torch):
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
        torch.nn.Linear(36, 2),
    )
    x, y = torch.randn(16, 1, 8, 8), torch.randn(16, 2)
    return model, torch.optim.SGD(model.parameters(), 0.05, 0.9), x, lambda out: torch.nn.functional.mse_loss(out, y)


def attention(torch):
    model = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    x, y = torch.randn(4, 5, 8), torch.randn(4, 5, 8)
    return model, torch.optim.Adam(model.parameters(), lr=1e-2), x, lambda out: (out.float() - y).square().mean()


def losses(name, program, dtype):
    torch = importlib.import_module(name)
    torch.manual_seed(0)
    model, optimizer, x, loss_of = program(torch)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, enabled=dtype == "float16")
    result = []
    for _ in range(6):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=getattr(torch, dtype)):
            loss = loss_of(model(x))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        result.append(loss.item())
    return result


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("program", [classifier, images, attention])
def test_training(program, dtype):
    expected = losses("torch", program, dtype)
    assert losses("numgrad", program, dtype) == pytest.approx(expected, rel=2e-3)
