"""Classes, functions and modules of the program's own that change between calls, and dictionaries in another order."""

import abc
import builtins
import collections
import decimal
import functools
import sys
import types

import numpy as np
import pytest
from programs.comparison import Holder, compared_with_eager
from programs.comparison import in_turn as in_turn_on

import numgrad
from numgrad import nn

cfg = types.ModuleType("own_settings")
cfg.__dict__.update(X=1.0, sub=types.ModuleType("own_settings.sub"))
cfg.sub.Y = 1.0
sys.modules |= {"own_settings": cfg, "own_settings.sub": cfg.sub}


in_turn = functools.partial(in_turn_on, shape=(2, 3))


@compared_with_eager
def test_order_of_dictionaries(compiled, see):
    plain, ordered = {"a": 1.0, "b": 2.0}, collections.OrderedDict(a=1.0, b=2.0)
    parts, by_number = nn.ModuleDict({"a": nn.Tanh(), "b": nn.Sigmoid()}), {1: 1.0, 2: 2.0}
    layers = nn.Sequential(nn.Linear(3, 3), nn.Tanh())

    def fold(x, values):
        for value in values:
            x = (x + value) * 2
        return x

    def through(x):
        for part in parts.values():
            x = part(x)
        return x

    functions = [
        compiled(lambda x: fold(x, plain.values())), compiled(lambda x: fold(x, ordered.values())),
        compiled(through), compiled(layers), compiled(lambda x: fold(x, by_number.values())),
    ]
    in_turn(
        functions, see, lambda: plain.update(a=plain.pop("a")), lambda: ordered.move_to_end("a"),
        lambda: parts._modules.update(a=parts._modules.pop("a")), lambda: by_number.update({1: by_number.pop(1)}),
        lambda: layers._modules.update({"0": layers._modules.pop("0")}),
    )


@compared_with_eager
def test_order_of_parameters(compiled, see):
    layer = nn.Linear(3, 3)

    def fold(x):
        for parameter in layer.parameters():
            x = (x + parameter.sum()) * 2
        return x

    in_turn([compiled(fold)], see, lambda: layer._parameters.update(weight=layer._parameters.pop("weight")))


@compared_with_eager
def test_attributes_of_classes(compiled, see):
    class Other:
        w = 3.0

    class Box:
        v = 1.0

    class Settings:
        _one = None
        nothing, pair, box = None, (1.0, 2.0), Box()

        class train:  # noqa: N801
            lr = 1.0

        def __init__(self):
            self.w = 1.0

        @classmethod
        def instance(cls):
            if cls._one is None:
                cls._one = cls()
            return cls._one

    Settings.instance()
    functions = [
        compiled(lambda x: x if Settings.nothing is None else x * Settings.nothing),
        compiled(lambda x: x * Settings.pair[0]), compiled(lambda x: x * Settings.train.lr),
        compiled(lambda x: x * Settings.box.v), compiled(lambda x: x * Settings.instance().w),
    ]
    in_turn(
        functions, see, lambda: setattr(Settings, "nothing", 4.0), lambda: setattr(Settings, "pair", (2.0, 2.0)),
        lambda: setattr(Settings.train, "lr", 5.0), lambda: setattr(Settings.box, "v", 6.0),
        lambda: setattr(Settings.instance(), "w", 7.0), lambda: setattr(Settings, "_one", Other()),
    )


@compared_with_eager
def test_modules_as_attributes_of_classes(compiled, see):
    class Net(nn.Module):
        drop = nn.Dropout(0.5)

        def forward(self, x):
            return self.drop(x)

    in_turn([compiled(Net())], see, Net.drop.eval, Net.drop.train)


@compared_with_eager
def test_attributes_of_bases(compiled, see):
    class First:
        scale = 1.0

    class Second(First):
        def scaled(self, x):
            return x * self.scale

    second = Second()
    functions = compiled(lambda x: x * Second.scale), compiled(second.scaled), compiled(lambda x: second.scaled(x))
    in_turn(
        functions, see, lambda: setattr(First, "scale", 5.0), lambda: setattr(Second, "scale", 7.0),
        lambda: delattr(Second, "scale"), lambda: setattr(second, "scale", 3.0),
    )


@compared_with_eager
def test_forward_of_classes_and_objects(compiled, see):
    class Net(nn.Module):
        def forward(self, x):
            return x * 2

    net, own = Net(), Net()
    own.forward = lambda x: x * 3
    functions = compiled(net), compiled(own), compiled(nn.Sequential(net)), compiled(nn.Sequential(own))
    in_turn(
        functions, see, lambda: setattr(Net, "forward", lambda self, x: x * 5),
        lambda: setattr(own, "forward", lambda x: x * 7), lambda: delattr(own, "forward"),
    )


@compared_with_eager
def test_modules_of_the_program(compiled, see):
    def within(x):
        import own_settings

        return x * own_settings.X

    def named(x):
        from own_settings import X

        return x * X

    def below(x):
        import own_settings.sub

        return x * own_settings.sub.Y

    def other_name(x):
        from own_settings.sub import Y as Z

        return x * Z

    held, module, key = Holder(), cfg, "X"
    held.cfg, cfg.X, cfg.sub.Y = cfg, 1.0, 1.0
    functions = [
        compiled(one) for one in (
            within, named, below, other_name, lambda x: x * cfg.X, lambda x: x * cfg.sub.Y, lambda x: x * module.X,
            lambda x: x * held.cfg.X, lambda x: x * getattr(cfg, key), lambda x: x * vars(module)["X"],
            lambda x: x * getattr(cfg, "LATER", 1.0), lambda x: x * 2 if hasattr(cfg, "LATER") else x,
        )
    ]
    in_turn(
        functions, see, lambda: setattr(cfg, "X", 2.0), lambda: setattr(cfg.sub, "Y", 3.0),
        lambda: setattr(cfg, "LATER", 4.0), lambda: delattr(cfg, "LATER"),
    )


@compared_with_eager(falls_back=True)
def test_globals_by_name(compiled, see):
    cfg.X = 1.0
    in_turn(
        [compiled(lambda x: x * globals()["cfg"].X), compiled(lambda x: x * eval("cfg.X"))], see,
        lambda: setattr(cfg, "X", 2.0),
    )


@compared_with_eager
def test_parts_of_functions(compiled, see):
    def g(x, k=1.0, *, s=1.0):
        return x * k * s * g.n

    def main(x):
        return g(x)

    def other(x, k=1.0, *, s=1.0):
        return x * k * s * g.n + 1

    g.n = 1.0
    functions = compiled(g), compiled(main), compiled(lambda x: hasattr(g, "late") + x)
    in_turn(
        functions, see, lambda: setattr(g, "n", 2.0), lambda: setattr(g, "__defaults__", (3.0,)),
        lambda: g.__kwdefaults__.update(s=4.0), lambda: setattr(g, "__kwdefaults__", {"s": 5.0}),
        lambda: setattr(g, "__code__", other.__code__),
        lambda: setattr(main, "__code__", (lambda x: g(x) * 9).__code__),
        lambda: setattr(g, "late", True),
    )


@compared_with_eager
def test_keywords_of_partial_functions(compiled, see):
    def scaled(x, k):
        return x * k

    partial = functools.partial(scaled, k=2.0)
    in_turn([compiled(partial)], see, lambda: partial.keywords.update(k=3.0))


@compared_with_eager
def test_configurations_that_answer_for_attributes(compiled, see):
    class Config:
        def __init__(self, **values):
            self._d = values

        def __getattr__(self, name):
            return self._d[name]

    class Bundle(dict):
        def __getattr__(self, name):
            return self[name]

        def total(self):
            return self.extra * 2

    config, bundle = Config(lr=1.0), Bundle(lr=1.0)
    bundle.__dict__["extra"] = 1.0
    functions = [
        compiled(lambda x: x * config.lr), compiled(lambda x: x * bundle.lr), compiled(lambda x: x * bundle.total())
    ]
    in_turn(
        functions, see, lambda: config._d.update(lr=2.0), lambda: bundle.update(lr=3.0),
        lambda: bundle.__dict__.update(extra=4.0),
    )


@compared_with_eager
def test_objects_with_nothing_of_their_own(compiled, see):
    class Empty:
        def scaled(self, x):
            return x * 2

    class Slots:
        __slots__ = ("a", "late")

        def __init__(self):
            self.a = 1.0

        def scaled(self, x):
            return x * self.a * (3 if hasattr(self, "late") else 1)

    empty, slots = Empty(), Slots()
    functions = [
        compiled(lambda x: empty.scaled(x)), compiled(empty.scaled), compiled(lambda x: slots.scaled(x)),
        compiled(slots.scaled), compiled(lambda x: x * slots.a),
    ]
    in_turn(
        functions, see, lambda: setattr(slots, "a", 2.0), lambda: setattr(slots, "late", None),
        lambda: delattr(slots, "late"), lambda: setattr(empty, "scaled", lambda x: x * 4),
    )


class Base:
    def weigh(self):
        return 2.0


class OtherBase:
    def weigh(self):
        return 3.0


def derived():
    class Derived(Base):
        """Text."""

        def weigh(self):
            return super().weigh() * 2

    return Derived


def described():
    def function(x: int):
        """Text."""

    return function


def cached():
    held = Holder()
    held.k = 2.0
    held.read = functools.lru_cache(lambda: held.k)
    return held


def hidden(base, *arguments):
    return type("Own", (base,), {"w": 2.0})(*arguments)


class Abstract(abc.ABC):  # noqa: B024
    pass


@pytest.mark.parametrize(("make", "read", "change"), [
    *[(functools.partial(hidden, base), lambda s: s.w, lambda s, _: setattr(s, "w", 3.0))
      for base in (list, dict, set, collections.deque)],
    (lambda: np.ones(2).view(type("Own", (np.ndarray,), {"w": 2.0})), lambda s: s.w, lambda s, _: setattr(s, "w", 3.0)),
    *[(described, read, lambda s, _, name=name, value=value: setattr(s, name, value)) for name, value, read in [
        ("__name__", "g", lambda s: len(s.__name__)), ("__qualname__", "g", lambda s: len(s.__qualname__)),
        ("__doc__", "g", lambda s: len(s.__doc__)), ("__module__", "g", lambda s: len(s.__module__)),
        ("__annotations__", {}, lambda s: len(s.__annotations__) + 1),
    ]],
    *[(derived, read, lambda s, _, name=name: setattr(s, name, "g")) for name, read in [
        ("__name__", lambda s: len(s.__name__)), ("__name__", lambda s: len(type(s()).__name__)),
        ("__doc__", lambda s: len(s.__doc__)), ("__module__", lambda s: len(s.__module__)),
    ]],
    (derived, lambda s: s().weigh(), lambda s, _: setattr(s, "__bases__", (OtherBase,))),
    (derived, lambda s: isinstance(s(), Abstract) + 1, lambda s, _: Abstract.register(s)),
    (derived, lambda s: issubclass(s, collections.abc.Sized) + 1, lambda s, _: collections.abc.Sized.register(s)),
    (cached, lambda s: s.read(), lambda s, _: (setattr(s, "k", 3.0), s.read.cache_clear())),
    (lambda: None, lambda s: divmod(5, 2)[0], lambda s, patch: patch.setattr(builtins, "divmod", lambda *_: [7])),
    (lambda: decimal.Decimal(2), lambda s: float(s / 3),
     lambda s, patch: patch.setattr(decimal.getcontext(), "prec", 3)),
    (lambda: nn.Parameter(numgrad.ones(1)), lambda s: getattr(s, "v", 1.5),
     lambda s, patch: patch.setattr(numgrad.Tensor, "v", 3.0, raising=False)),
    (lambda: None, lambda s: getattr(nn.ReLU(), "v", 1.5),
     lambda s, patch: patch.setattr(nn.Module, "v", 3.0, raising=False)),
    *[(lambda: None, lambda s, cls=cls: cls()(numgrad.ones(1)),
       lambda s, patch, cls=cls: patch.setattr(cls, "forward", lambda _, x: -x, raising=False))
      for cls in (nn.ReLU, nn.Tanh)],
    (nn.ReLU, lambda s: s(numgrad.ones(1)), lambda s, patch: patch.setattr(nn.ReLU, "forward", lambda _, x: -x)),
    (lambda: np.arange(4.0)[1:], lambda s: float(s.base[0] + 1), lambda s, _: s.base.fill(4.0)),
    (lambda: np.ones(2), lambda s: s.flags.writeable + 1, lambda s, _: s.setflags(write=False)),
    (lambda: numgrad.ones(1), lambda s: (s.grad is None) + 1, lambda s, _: setattr(s, "grad", numgrad.ones(1))),
    (lambda: [numgrad.ones(1)] * 2, lambda s: (s[0] is s[1]) + 1, lambda s, _: s.append(s.pop().clone())),
])
def test_reads_together_with_attributes(make, read, change, monkeypatch):
    held = make()
    compiled = numgrad.compile(lambda x: x * read(held), fullgraph=True)
    values = []
    for _ in range(2):
        for _ in range(3):
            assert compiled(numgrad.ones(1)).item() == numgrad.tensor(float(read(held))).item()
        values.append(float(read(held)))
        change(held, monkeypatch)
    assert values[0] != values[1]


@compared_with_eager
def test_which_tensors_are_one(compiled, see):
    held = Holder()
    held.a = held.b = numgrad.ones(3)
    one = compiled(lambda x: x * ((held.a is held.b) + 1))
    in_turn([one], see, lambda: setattr(held, "b", numgrad.ones(3)), lambda: setattr(held, "a", held.b))
