"""Recurrent networks and their single steps against PyTorch's: weights, numbers, gradients, errors."""

import inspect
from typing import get_overloads

import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch

LAYERS = {
    "lstm": lambda nn: nn.LSTM(3, 4),
    "lstm of two layers, both ways": lambda nn: nn.LSTM(3, 4, 2, bidirectional=True),
    "lstm without biases": lambda nn: nn.LSTM(3, 4, bias=False, batch_first=True),
    "lstm with projections": lambda nn: nn.LSTM(3, 5, 2, bidirectional=True, proj_size=2),
    "lstm with projections, without biases": lambda nn: nn.LSTM(3, 5, 2, False, proj_size=2),
    "gru": lambda nn: nn.GRU(3, 4),
    "gru of two layers, both ways": lambda nn: nn.GRU(3, 4, 2, bidirectional=True, batch_first=True),
    "gru without biases": lambda nn: nn.GRU(3, 4, bias=False),
    "rnn": lambda nn: nn.RNN(3, 4),
    "rnn with relu": lambda nn: nn.RNN(3, 4, 2, "relu", bidirectional=True),
    "rnn without biases": lambda nn: nn.RNN(3, 4, nonlinearity="relu", bias=False),
    "dropout": lambda nn: nn.LSTM(3, 4, 3, dropout=0.4, bidirectional=True),
    "dropout of a gru": lambda nn: nn.GRU(3, 4, 2, dropout=0.4),
    "all dropped": lambda nn: nn.RNN(3, 4, 2, dropout=1.0),
}
CELLS = [
    lambda nn: nn.LSTMCell(3, 4), lambda nn: nn.LSTMCell(3, 4, False), lambda nn: nn.GRUCell(3, 4),
    lambda nn: nn.GRUCell(3, 4, bias=False), lambda nn: nn.RNNCell(3, 4), lambda nn: nn.RNNCell(3, 4, False, "relu"),
]  # fmt: skip


def flat(values):
    return [one for value in values for one in (flat(value) if isinstance(value, tuple | list) else [value])]


def results(m, layer, input, *given):
    """The outputs, and the gradients for all weights of a sum of their squares."""
    outputs = flat(layer(input, *given))
    loss = sum((output * output).sum() for output in outputs if output.is_floating_point())
    return *outputs, *m.autograd.grad(loss, [*layer.parameters()], retain_graph=True)


def states(m, layer, shape):
    """A state at the beginning for each layer and direction."""
    m.manual_seed(5)
    ways = layer.num_layers * (2 if layer.bidirectional else 1)
    hidden = m.randn(ways, *shape, layer.proj_size or layer.hidden_size, dtype=m.float64)
    return (hidden, m.randn(ways, *shape, layer.hidden_size, dtype=m.float64)) if layer.mode == "LSTM" else hidden


@pytest.mark.parametrize("make", [*LAYERS.values(), *CELLS])
def test_weights_and_text(make):
    def program(m):
        m.manual_seed(1)
        return [*make(m.nn).parameters()]

    import torch

    import numgrad

    theirs, ours = [make(m.nn) for m in (torch, numgrad)]
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    kept = {name: value for name, value in vars(theirs).items() if not name.startswith("_")}
    assert {name: getattr(ours, name) for name in kept} == kept
    assert_same(program)


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_sequences(make):
    def program(m, x):
        m.manual_seed(3)
        layer = make(m.nn).double()
        return *results(m, layer, x), *results(m, layer.eval(), x, states(m, layer, (x.shape[1 - layer.batch_first],)))

    assert_same(program, *randoms((5, 2, 3)), graph=False)


@pytest.mark.parametrize("make", [make for name, make in LAYERS.items() if "drop" not in name])
def test_a_single_sequence(make):
    def program(m, x):
        m.manual_seed(3)
        layer = make(m.nn).double()
        return *results(m, layer, x), *results(m, layer, x, states(m, layer, ()))

    assert_same(program, *randoms((5, 3)), graph=False)


@pytest.mark.parametrize("sorted", [True, False])
@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_packed_sequences(make, sorted):
    def program(m, x):
        m.manual_seed(3)
        layer = make(m.nn).double()
        lengths = [5, 5, 3, 1] if sorted else [3, 5, 1, 5]
        packed = m.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=sorted)
        out, *end = layer(packed, states(m, layer, (4,)))
        assert type(out) is type(packed)
        return [one for one in (*results(m, layer, packed), *out, *flat(end)) if one is not None]

    assert_same(program, *randoms((5, 4, 3)), graph=False)


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn", "lstm with projections"])
def test_float32_and_longer(name):
    def program(m, x):
        m.manual_seed(3)
        return results(m, LAYERS[name](m.nn), x)

    assert_same(program, *randoms((40, 3, 3), dtype="float32", layout="stepped"), graph=False, tolerance=1e-4)


@pytest.mark.parametrize("make", CELLS)
def test_single_steps(make):
    def program(m, x):
        m.manual_seed(3)
        cell = make(m.nn).double()
        h = m.randn(2, 4).double()
        alone = (h[0], h[1]) if isinstance(cell, m.nn.LSTMCell) else h[0]
        state = (h, h * 2) if isinstance(cell, m.nn.LSTMCell) else h
        return *results(m, cell, x), *results(m, cell, x, state), *flat([cell(x[0]), cell(x[1], alone)])

    assert_same(program, *randoms((2, 3)), graph=False)


def test_no_examples():
    def program(m, x):
        return [*flat(m.nn.LSTM(3, 4).double()(x)), *m.nn.GRU(3, 4).double()(x)]

    assert_same(program, *randoms((5, 0, 3)), graph=False)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_parts_that_programs_use(name):
    def program(m):
        m.manual_seed(2)
        layer = getattr(m.nn, name)(2, 3, 2, bidirectional=True)
        layer.flatten_parameters()
        assert len(layer.all_weights) == 4
        assert layer.get_expected_hidden_size(m.ones(5, 7, 2), None) == (4, 7, 3)
        with m.no_grad():
            layer.weight_hh_l1_reverse.fill_(1.0)
        state = m.eye(3).reshape(1, 3, 3)
        state = (state, 2 * state) if name == "LSTM" else state
        return flat([layer.all_weights, layer.permute_hidden(state, m.tensor([2, 1]))])

    assert_same(program, graph=False)


def refused(name, *shape, state=None, dtype="float32", **options):
    def program(m):
        layer = getattr(m.nn, name)(3, 4, **options)
        given = m.zeros(shape, dtype=getattr(m, dtype))
        return layer(given, *[] if state is None else [state(m)])

    return program


@pytest.mark.parametrize("program", [
    refused("LSTM", 5, 2, 4), refused("GRU", 5, 2, 4), refused("RNN", 3), refused("LSTM", 3),
    refused("GRU", 1, 1, 1, 3), refused("LSTM", 0, 2, 3), refused("GRU", 0, 2, 3),
    refused("LSTM", 5, 2, 3, dtype="float64"), refused("GRU", 5, 2, 3, dtype="int64"),
    refused("LSTM", 5, 2, 3, state=lambda m: (m.zeros(1, 1, 4), m.zeros(1, 2, 4))),
    refused("LSTM", 5, 2, 3, state=lambda m: (m.zeros(1, 2, 4), m.zeros(1, 2, 3))),
    refused("LSTM", 5, 2, 3, state=lambda m: (m.zeros(2, 4), m.zeros(2, 4))),
    refused("LSTM", 5, 3, state=lambda m: (m.zeros(1, 2, 4), m.zeros(1, 2, 4))),
    refused("LSTM", 5, 2, 3, proj_size=2, state=lambda m: (m.zeros(1, 2, 4), m.zeros(1, 2, 4))),
    refused("GRU", 5, 2, 3, state=lambda m: m.zeros(2, 4)), refused("RNN", 5, 3, state=lambda m: m.zeros(1, 2, 4)),
    refused("RNN", 5, 2, 3, state=lambda m: m.zeros(1, 2, 5)), refused("GRU", 5, 2, 3, proj_size=2),
    refused("RNN", 5, 2, 3, nonlinearity="sin"), refused("RNN", 5, 2, 3, num_layers=0),
    refused("RNN", 5, 2, 3, bias=1), refused("LSTM", 5, 2, 3, batch_first=None), refused("LSTM", 1, 1, 3, dropout=1.5),
    refused("LSTM", 5, 2, 3, dropout=True), refused("LSTM", 5, 2, 3, proj_size=4),
    refused("LSTM", 5, 2, 3, proj_size=-1),
    lambda m: m.nn.LSTM(3.0, 4), lambda m: m.nn.LSTM(0, 4), lambda m: m.nn.LSTM(3, "4"), lambda m: m.nn.GRU(3, -4),
    lambda m: m.nn.RNNBase("RNN", 3, 4),
    refused("GRUCell", 2, 4), refused("GRUCell", 2, 2, 3), refused("LSTMCell", 3, 2, 3),
    refused("GRUCell", 2, 3, state=lambda m: m.zeros(3, 4)), refused("GRUCell", 2, 3, state=lambda m: m.zeros(2, 5)),
    refused("GRUCell", 2, 3, state=lambda m: m.zeros(1, 2, 4)), refused("RNNCell", 2, 3, nonlinearity="sin"),
    refused("LSTMCell", 2, 3, state=lambda m: (m.zeros(2, 4), m.zeros(1, 4))),
    refused("LSTMCell", 2, 3, state=lambda m: (m.zeros(2, 4), m.zeros(()))),
    lambda m: m.lstm(m.ones(5, 2, 3), [m.zeros(1, 2, 4)], [*m.nn.LSTM(3, 4).parameters()], True, 1, 0.0, False, False,
                     False),
    lambda m: m.gru(m.ones(5, 2, 3), m.zeros(1, 2, 4), [*m.nn.GRU(3, 4).parameters()][:3], True, 1, 0.0, False, False,
                    False),
    lambda m: m.gru(m.ones(5, 2, 3), m.zeros(1, 2, 4), [*m.nn.GRU(3, 4, 2).parameters()], True, 2, 0.0, False, False,
                    False),
    lambda m: m.lstm_cell(m.ones(2, 3), [m.zeros(2, 4)], m.ones(16, 3), m.ones(16, 4)),
])  # fmt: skip
def test_refusals(program):
    expected, found = messages(program)
    assert type(found) is type(expected)
    assert str(found).startswith(str(expected)), str(expected)


@pytest.mark.parametrize(("sizes", "message"), [
    ([2, 3, 2], "must not ascend"), ([2, 2, 0], "nor descend below 1"), ([3, 3], "must add up"),
    ([], "larger than 0"), ([[4, 3]], "1D CPU int64"), ([4.0, 3.0], "1D CPU int64"),
])  # fmt: skip
def test_packed_sequences_that_cannot_be(sizes, message):
    """PyTorch misinterprets some calls."""
    import numgrad

    packed = numgrad.nn.utils.rnn.PackedSequence(numgrad.zeros(7, 3), numgrad.tensor(sizes).to(
        numgrad.float32 if sizes == [4.0, 3.0] else numgrad.int64))
    with pytest.raises(RuntimeError, match=message):
        numgrad.nn.GRU(3, 4)(packed)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell", "RNNBase", "RNNCellBase"])
def test_parameters_of_the_classes(name):
    """PyTorch has ``*args`` if the parameters differ from those of the base; its overloads name them."""
    import torch

    import numgrad

    theirs, ours = [getattr(m.nn, name).__init__ for m in (torch, numgrad)]
    named = [inspect.signature(overload) for overload in get_overloads(theirs)] or [inspect.signature(theirs)]
    own = [
        parameter
        for parameter in inspect.signature(ours).parameters.values() if parameter.kind is not parameter.VAR_KEYWORD
    ]
    expected = [*named[0].parameters.values()]
    assert [(one.name, one.default) for one in own] == [(one.name, one.default) for one in expected]
