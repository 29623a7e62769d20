"""Programs as PyTorch's users write them: a class with layers, a loss, a loop that updates the parameters."""

import numgrad as torch
from numgrad import nn
from numgrad.nn import functional


class Classifier(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.flatten = nn.Flatten()
        self.layers = nn.Sequential(
            nn.Linear(2, hidden), nn.ReLU(), nn.LayerNorm(hidden), nn.Dropout(0.1), nn.Linear(hidden, 2)
        )

    def forward(self, x):
        return self.layers(self.flatten(x))


def descend(model, rate):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= rate * parameter.grad
    model.zero_grad()


def test_a_line_is_fitted():
    torch.manual_seed(0)
    x = torch.randn(64, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]]) + 3.0
    model, loss_of = nn.Linear(3, 1), nn.MSELoss()
    for _ in range(200):
        loss = loss_of(model(x), y)
        loss.backward()
        descend(model, 0.1)
    assert loss.item() < 1e-8
    assert abs(model.bias.item() - 3.0) < 1e-3


def test_a_classifier_learns_what_no_line_separates():
    torch.manual_seed(0)
    x = torch.rand(256, 1, 2) * 2 - 1
    labels = ((x[:, 0, 0] * x[:, 0, 1]) > 0).long()
    model, loss_of = Classifier(), nn.CrossEntropyLoss()
    model.train()
    for _ in range(150):
        loss = loss_of(model(x), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        descend(model, 0.5)
    model.eval()
    with torch.no_grad():
        scores = model(x)
    assert scores.grad_fn is None
    right = (scores.argmax(dim=1) == labels).float().mean().item()
    assert right > 0.95

    again = Classifier()
    assert repr(again.load_state_dict(model.state_dict())) == "<All keys matched successfully>"
    assert again.eval()(x).tolist() == scores.tolist()


def test_words_next_to_each_other():
    """A language model of embeddings: the next word follows from the two before."""
    torch.manual_seed(0)
    words = torch.arange(6).repeat(3)
    pairs = torch.stack([words[:-2], words[1:-1]], dim=1)

    class Next(nn.Module):
        def __init__(self):
            super().__init__()
            self.embeddings = nn.Embedding(6, 8)
            self.hidden = nn.ModuleList([nn.Linear(16, 16), nn.Linear(16, 6)])

        def forward(self, pairs):
            x = self.embeddings(pairs).view(len(pairs), -1)
            return functional.log_softmax(self.hidden[1](functional.relu(self.hidden[0](x))), dim=1)

    model = Next()
    for _ in range(100):
        loss = functional.nll_loss(model(pairs), words[2:])
        loss.backward()
        descend(model, 0.5)
    assert model(pairs).argmax(1).tolist() == words[2:].tolist()


def test_a_module_in_a_module_is_trained_once():
    """Shared layers get the sum of their gradients."""
    shared = nn.Linear(1, 1, bias=False)
    model = nn.Sequential(shared, shared)
    nn.init.constant_(shared.weight, 3.0)
    model(torch.ones(1, 1)).sum().backward()
    assert shared.weight.grad.item() == 6.0
    assert len(list(model.parameters())) == 1
