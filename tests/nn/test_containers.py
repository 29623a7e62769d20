"""Sequential, ModuleList, ModuleDict, ParameterList and ParameterDict: lists and dictionaries that register."""

from collections import OrderedDict

import pytest
from nn_models import refusal

import numgrad as torch
from numgrad import nn


class Add(nn.Module):
    """Adds a number, by which it is recognized."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self, x):
        return x + self.number

    def extra_repr(self):
        return str(self.number)


def numbers(modules):
    """The names and numbers of modules in a row, checked against their order when iterated."""
    assert [module.number for module in modules] == [module.number for module in modules._modules.values()]
    return {name: module.number for name, module in modules._modules.items()}


def row(*values):
    return nn.Sequential(*[Add(value) for value in values])


# --- Sequential -------------------------------------------------------------------------


def test_sequential_applies_one_after_the_other():
    model = nn.Sequential(OrderedDict(up=Add(1.0), down=nn.Tanh()))
    assert model(torch.tensor([-1.0])).tolist() == [0.0]
    assert model.up.number == 1.0
    assert nn.Sequential()(3) == 3
    assert repr(model) == "Sequential(\n  (up): Add(1.0)\n  (down): Tanh()\n)"


def test_sequential_reads_like_a_list():
    model = row(0, 1, 2, 3)
    assert len(model) == 4
    assert (model[1].number, model[-1].number) == (1, 3)
    assert numbers(model[1:3]) == {"1": 1, "2": 2}
    assert type(model[:2]) is nn.Sequential
    assert model[:2][0] is model[0]
    assert [module.number for module in reversed(model)] == [3, 2, 1, 0]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda m: m.append(Add(9)), [0, 1, 2, 9]),
        (lambda m: m.extend([Add(8), Add(9)]), [0, 1, 2, 8, 9]),
        (lambda m: m.extend(m), [0, 1, 2, 0, 1, 2]),
        (lambda m: m.insert(1, Add(9)), [0, 9, 1, 2]),
        (lambda m: m.insert(-1, Add(9)), [0, 1, 9, 2]),
        (lambda m: m.insert(3, Add(9)), [0, 1, 2, 9]),
        (lambda m: m.pop(0), [1, 2]),
        (lambda m: m.__setitem__(-1, Add(9)), [0, 1, 9]),
        (lambda m: m.__delitem__(-2), [0, 2]),
        (lambda m: m.__delitem__(slice(0, None, 2)), [1]),
        (lambda m: m.__iadd__(row(9)), [0, 1, 2, 9]),
        (lambda m: m.__imul__(2), [0, 1, 2, 0, 1, 2]),
    ],
)
def test_sequential_changes_like_a_list(change, expected):
    model = row(0, 1, 2)
    change(model)
    assert numbers(model) == {str(place): value for place, value in enumerate(expected)}
    assert model(0) == sum(expected)


def test_new_sequentials():
    model = row(1, 2)
    assert numbers(model + row(3)) == {"0": 1, "1": 2, "2": 3}
    assert numbers(model * 2) == numbers(2 * model) == {"0": 1, "1": 2, "2": 1, "3": 2}
    assert (model * 2)[2] is model[0]
    assert numbers(model) == {"0": 1, "1": 2}
    taken = model.pop(1)
    assert taken.number == 2


def test_deleting_numbers_named_modules_afresh():
    model = nn.Sequential(OrderedDict(a=Add(0), b=Add(1), c=Add(2)))
    del model[1]
    assert numbers(model) == {"0": 0, "1": 2}


SEQUENTIAL = "<class 'numgrad.nn.modules.container.Sequential'>"


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda m: m[3], "IndexError: index 3 is out of range"),
        (lambda m: m[-4], "IndexError: index -4 is out of range"),
        (lambda m: m["0"], "TypeError: 'str' object cannot be interpreted as an integer"),
        (lambda m: m.pop(7), "IndexError: index 7 is out of range"),
        (lambda m: m.__delitem__(7), "IndexError: index 7 is out of range"),
        (lambda m: m.__setitem__(0, 3),
         "TypeError: cannot assign 'int' as child module '0' (torch.nn.Module or None expected)"),
        (lambda m: m.append(3), "TypeError: int is not a Module subclass"),
        (lambda m: m.insert(100, nn.ReLU()), "IndexError: Index out of range: 100"),
        (lambda m: m.insert(0, 3), "AssertionError: module should be of type: "
         "<class 'numgrad.nn.modules.module.Module'>"),
        (lambda m: m + 3, "ValueError: add operator supports only objects of Sequential class, but "
         "<class 'int'> is given."),
        (lambda m: m * 0, f"ValueError: Non-positive multiplication factor 0 for {SEQUENTIAL}"),
        (lambda m: m * 1.5, f"TypeError: unsupported operand type(s) for *: {SEQUENTIAL} and <class 'float'>"),
        (lambda m: nn.Sequential(3), "TypeError: int is not a Module subclass"),
    ],
)
def test_sequential_refuses(action, message):
    model = row(0, 1, 2)
    assert refusal(lambda: action(model)) == message
    assert numbers(model) == {"0": 0, "1": 1, "2": 2}


# --- ModuleList, ModuleDict -------------------------------------------------------------


def test_module_list():
    modules = nn.ModuleList([Add(0), Add(1)])
    modules.append(Add(2)).extend(Add(number) for number in (3, 4))
    modules.insert(0, Add(-1))
    modules += [Add(5)]
    assert numbers(modules) == {str(place): place - 1 for place in range(7)}
    assert type(modules[1:3]) is nn.ModuleList
    assert numbers(modules[1:3]) == {"0": 0, "1": 1}
    assert numbers(modules.pop(slice(0, 4))) == {"0": -1, "1": 0, "2": 1, "3": 2}
    del modules[-1]
    more = [Add(9)]
    assert numbers(modules + more) == {"0": 3, "1": 4, "2": 9}
    assert numbers(modules) == {"0": 3, "1": 4}
    assert refusal(lambda: modules[2]) == "IndexError: index 2 is out of range"
    assert refusal(lambda: modules.extend(3)) == (
        "TypeError: ModuleList.extend should be called with an iterable, but got int"
    )
    assert refusal(lambda: modules(1)) == (
        'NotImplementedError: Module [ModuleList] is missing the required "forward" function'
    )


def test_module_list_shows_what_is_alike_once():
    modules = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU()])
    assert repr(modules) == (
        "ModuleList(\n  (0-1): 2 x Linear(in_features=1, out_features=1, bias=True)\n  (2): ReLU()\n)"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"
    nested = nn.ModuleList([nn.Sequential(nn.ReLU())] * 2)
    assert repr(nested) == "ModuleList(\n  (0-1): 2 x Sequential(\n    (0): ReLU()\n  )\n)"


def test_module_dict():
    modules = nn.ModuleDict({"b": Add(1), "a": Add(2)})
    assert list(modules) == list(modules.keys()) == ["b", "a"]
    modules["c"] = Add(3)
    modules.update([("d", Add(4)), ["a", Add(5)]])
    assert [(name, module.number) for name, module in modules.items()] == [("b", 1), ("a", 5), ("c", 3), ("d", 4)]
    assert "c" in modules
    assert modules.pop("c").number == 3
    del modules["d"]
    assert [module.number for module in modules.values()] == [1, 5]
    assert len(modules) == 2
    assert repr(modules) == "ModuleDict(\n  (b): Add(1)\n  (a): Add(5)\n)"
    modules.clear()
    assert list(modules) == []


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda m: m["z"], "KeyError: 'z'"),
        (lambda m: m.__setitem__(1, nn.ReLU()), "TypeError: module name should be a string. Got int"),
        (lambda m: m.__setitem__("items", nn.ReLU()), "KeyError: \"attribute 'items' already exists\""),
        (lambda m: m.update(3),
         "TypeError: ModuleDict.update should be called with an iterable of key/value pairs, but got int"),
        (lambda m: m.update([("a", nn.ReLU(), 3)]),
         "ValueError: ModuleDict update sequence element #0 has length 3; 2 is required"),
        (lambda m: m.update([3]), "TypeError: ModuleDict update sequence element #0 should be Iterable; is int"),
    ],
)
def test_module_dict_refuses(action, message):
    modules = nn.ModuleDict({"a": nn.ReLU()})
    assert refusal(lambda: action(modules)) == message
    assert list(modules) == ["a"]


# --- ParameterList, ParameterDict -------------------------------------------------------


def test_parameter_list():
    values = nn.ParameterList([torch.ones(2), nn.Parameter(torch.ones(2, 3)), 3])
    assert repr(values) == (
        "ParameterList(\n"
        "    (0): Parameter containing: [torch.float32 of size 2]\n"
        "    (1): Parameter containing: [torch.float32 of size 2x3]\n"
        "    (2): Object of type: int\n"
        ")"
    )
    assert [name for name, _ in values.named_parameters()] == ["0", "1"]
    values.append(torch.zeros(1)).extend([torch.zeros(2)])
    values += [torch.zeros(3)]
    values[0] = torch.zeros(4)
    assert [tuple(value.shape) for value in values.parameters()] == [(4,), (2, 3), (1,), (2,), (3,)]
    assert values[-1].shape == (3,)
    assert [type(value).__name__ for value in values[1:3]] == ["Parameter", "int"]
    assert len(values) == len(list(values)) == 6
    assert refusal(lambda: values[6]) == "IndexError: index 6 is out of range"
    assert refusal(lambda: values(1)) == "RuntimeError: ParameterList should not be called."
    assert refusal(lambda: values.extend(torch.ones(2))) == (
        "TypeError: ParameterList.extend should be called with an iterable, but got Tensor"
    )


def test_parameter_dict():
    values = nn.ParameterDict({"b": torch.ones(2), "a": 3})
    assert list(values) == ["a", "b"]
    assert list(nn.ParameterDict(OrderedDict(b=torch.ones(2), a=3))) == ["b", "a"]
    assert repr(values) == (
        "ParameterDict(\n"
        "    (a): Object of type: int\n"
        "    (b): Parameter containing: [torch.FloatTensor of size 2]\n"
        ")"
    )
    assert values["b"] is values.b
    values["c"] = torch.zeros(1)
    assert [name for name, _ in values.named_parameters()] == ["b", "c"]
    assert values.setdefault("d", torch.ones(1)) is values["d"]
    assert values.get("z", 5) == 5
    assert list(reversed(values)) == ["d", "c", "b", "a"]
    assert list(values | {"e": 1}) == ["a", "b", "c", "d", "e"]
    assert {"e": 1, "a": 2} | values == {"e": 1, **dict(values.items())}
    values |= {"f": 1}
    assert values.popitem() == ("f", 1)
    assert values.pop("a") == 3
    assert list(values.fromkeys(["x", "y"], 0).items()) == [("x", 0), ("y", 0)]
    assert values.copy()["b"] is values["b"]
    assert [tuple(value.shape) for value in values.values()] == [(2,), (1,), (1,)]
    values.clear()
    assert (len(values), list(values.parameters())) == (0, [])


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda p: p["z"], "AttributeError: 'ParameterDict' object has no attribute 'z'"),
        (lambda p: p.__delitem__("z"), "KeyError: 'z'"),
        (lambda p: p.__setitem__("update", 3), "KeyError: \"attribute 'update' already exists\""),
        (lambda p: p.__setitem__(1, 3), "TypeError: Index given to ParameterDict cannot be used as a key as it is not "
         "a string (type is 'int')."),
        (lambda p: p.update([(1, 2, 3)]),
         "ValueError: ParameterDict update sequence element #0 has length 3; 2 is required"),
        (lambda p: p(1), "RuntimeError: ParameterDict should not be called."),
    ],
)
def test_parameter_dict_refuses(action, message):
    values = nn.ParameterDict({"a": torch.ones(1)})
    assert refusal(lambda: action(values)) == message
    assert list(values) == ["a"]
