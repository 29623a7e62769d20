"""Options of the library's modules, and programs that read the registries of modules."""

import contextlib

from programs.comparison import compared_with_eager, ramp, replays

import numgrad
from numgrad import nn
from numgrad.programs.environment import Environment


@compared_with_eager
def test_options_of_losses(compiled, see):
    for make in (nn.CrossEntropyLoss, nn.NLLLoss):
        loss, target = make(), numgrad.tensor([0, 1])
        functions = compiled(lambda x, t, loss=loss: loss(x, t)), compiled(loss)
        for change in ({}, {"reduction": "sum"}, {"ignore_index": 1}, {"label_smoothing": 0.5}):
            loss.__dict__.update(change)
            for _ in range(2):
                see(*[f(ramp(2, 3), target) for f in functions])
    for make, change in (
        (nn.MSELoss, {"reduction": "sum"}), (nn.SmoothL1Loss, {"beta": 3.0}), (nn.HuberLoss, {"delta": 3.0}),
        (nn.L1Loss, {"reduction": "none"}), (nn.BCEWithLogitsLoss, {"reduction": "sum"}),
        (nn.PoissonNLLLoss, {"log_input": False}),
    ):
        loss = make()
        f = compiled(lambda x, t, loss=loss: loss(x, t))
        for options in ({}, change):
            loss.__dict__.update(options)
            see(f(ramp(4) + 2, ramp(4).abs()), f(ramp(4) + 2, ramp(4).abs()))


@compared_with_eager
def test_options_of_pools(compiled, see):
    for make, change in (
        (nn.MaxPool1d, {"stride": 1}), (nn.AvgPool1d, {"kernel_size": (3,)}), (nn.MaxPool2d, {"padding": 1}),
        (nn.AvgPool2d, {"count_include_pad": False, "padding": 1}), (nn.AvgPool2d, {"ceil_mode": True}),
    ):
        pool = make(2)
        f = compiled(lambda x, pool=pool: pool(x))
        x = ramp(1, 2, 5, 5) if "2d" in make.__name__ else ramp(1, 2, 5)
        for options in ({}, change):
            pool.__dict__.update(options)
            see(f(x), f(x))


#: Attributes and parts of modules that calls do not read.
SHOWN = {
    "num_features", "affine", "in1_features", "in2_features", "in_features", "out_features", "output_padding", "dim",
    "device_ids", "input_size", "bias", "num_channels", "elementwise_affine", "kdim", "vdim", "head_dim", "init",
    "num_parameters", "nhead", "name",
}


def modules():
    """Modules of all classes that are made of no more than some numbers."""
    classes = [var for var in vars(nn).values() if isinstance(var, type) and issubclass(var, nn.Module)]
    for cls in classes:
        for arguments in ((), (2,), (2, 2), (2, 2, 2), (4, 2, 2)):
            with contextlib.suppress(Exception):
                yield cls(*arguments)
                break


def test_guards_ask_for_options():
    made = [*modules()]
    assert len(made) > 100
    for module in made:
        read = {(id(one.holder), one.key) for one in Environment(lambda x, module=module: module(x)).read}
        options = {key for key in module.__dict__ if not key.startswith("_") and key != "training"}
        unread = {key for key in options if (id(module.__dict__), key) not in read}
        assert unread <= SHOWN, module
        assert not unread or not isinstance(module, nn.modules.loss._Loss | nn.modules.pooling._Pool), module


def in_turn(functions, see, *changes):
    """Two calls of each after each change."""
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            see(*[f(ramp(2, 2)) for f in functions])


@compared_with_eager
def test_parameters_that_a_program_goes_through(compiled, see):
    m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

    def added(x):
        for parameter in m.parameters():
            x = x + parameter.sum()
        return m(x)

    functions = [
        compiled(added), compiled(lambda x: x * len(list(m.modules()))), compiled(lambda x: x * len(m.state_dict())),
        compiled(lambda x: x * (1 + len(list(m[1].buffers())))), compiled(lambda x: x * len(list(m[1].children()))),
        compiled(lambda x: x * len(m[1]._buffers)),
    ]
    in_turn(
        functions, see, lambda: m[1].register_parameter("extra", nn.Parameter(ramp(2))),
        lambda: m[1].register_module("inner", nn.Tanh()), lambda: m[1].register_buffer("late", ramp(2)),
        lambda: m[1].__dict__.update(_buffers={"late": ramp(2), "more": ramp(2)}),
    )


@compared_with_eager
def test_attributes_that_modules_come_to_have(compiled, see):
    m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    relu = m[1]

    def tried(x):
        try:
            return x * relu.scale
        except AttributeError:
            return m(x)

    functions = [
        compiled(tried), compiled(lambda x: x * 2 if hasattr(relu, "scale") else m(x)),
        compiled(lambda x: x * getattr(m[1], "scale", 3.0)),
    ]
    in_turn(
        functions, see, lambda: relu.register_buffer("scale", ramp(2)), lambda: delattr(relu, "scale"),
        lambda: relu.__dict__.update(_buffers={"scale": ramp(2)}), lambda: relu.__dict__.update(_buffers={}),
        lambda: relu.register_parameter("scale", nn.Parameter(ramp(2))), lambda: delattr(relu, "scale"),
        lambda: setattr(relu, "scale", nn.Identity().training),
    )


def test_plain_models_ask_for_little():
    model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(10)], nn.ReLU())
    compiled = numgrad.compile(model)
    for _ in range(3):
        compiled(ramp(2, 4))
    assert replays(compiled.compiled) == [1]
    model[10].register_buffer("unused", ramp(2))
    compiled(ramp(2, 4))
    assert replays(compiled.compiled) == [1]
    conditions = numgrad.compiler.explain(compiled)[0].programs[0].conditions
    assert {"Sequential", "0", "Sequential.training", "0.weight"} <= {*conditions}
    assert all(conditions)
    assert "dict" not in conditions
