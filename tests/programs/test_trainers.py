"""Objects with a compiled method, whose attributes other code changes between calls."""

import pytest
from programs.comparison import compared_with_eager, ramp, replays

import numgrad
from numgrad import nn, optim


class Base:
    def __init__(self):
        self.model = nn.Linear(3, 2)
        self.optimizer = optim.SGD(self.model.parameters(), lr=0.1)
        self.global_step, self.losses, self.factor, self.best = 0, [], 1.0, None

    def loss(self, x):
        return self.model(x).pow(2).sum()

    def log(self):
        return f"{self.global_step}: {self.losses[-1]} {self.best}"

    def __repr__(self):
        return f"step {self.global_step}"

    def fit(self, x, steps):
        for _ in range(steps):
            self.losses.append(self.step(x).item())
            self.global_step += 1
            self.best = min(self.losses)
            self.log()


class Trainer(Base):
    def __init__(self):
        super().__init__()
        self.history = {"losses": self.losses}

    def loss(self, x):
        return super().loss(x) * getattr(self, "factor", 1.0)

    @numgrad.compile
    def step(self, x):
        self.optimizer.zero_grad()
        loss = self.loss(x)
        loss.backward()
        self.optimizer.step()
        return loss


def test_attributes_that_a_method_does_not_read_may_change():
    trainer = Trainer()
    trainer.fit(ramp(2, 3), 12)
    assert replays(trainer.step) == [1]
    [signature] = trainer.step.signatures.values()
    assert signature.failed == []
    assert signature.eager is None
    trainer.factor = 2.0
    trainer.fit(ramp(2, 3), 2)
    assert replays(trainer.step) == [2]
    assert signature.failed == [["self.factor"]]
    conditions = [condition for guarded in signature.programs for condition in guarded.guard.conditions]
    assert not any("_compiled" in one or not one.strip() for one in conditions)


def test_trainers_do_as_without_compiling():
    def run():
        numgrad.manual_seed(0)
        trainer = Trainer()
        trainer.fit(ramp(2, 3), 4)
        trainer.factor = 3.0
        trainer.fit(ramp(2, 3), 4)
        return trainer.losses

    losses = run()
    numgrad.compiler.set_stance("force_eager")
    try:
        assert losses == run()
    finally:
        numgrad.compiler.set_stance("default")


class Modes:
    """The model is in training in one method, and not in the other."""

    def __init__(self):
        self.model = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))
        self.shape = None

    @numgrad.compile
    def step(self, x):
        self.model.train()
        self.shape = tuple(x.shape)
        return self.model(x).sum()

    @numgrad.compile
    def evaluate(self, x):
        self.model.eval()
        return self.model(x).sum()


def test_methods_that_change_modes_are_replayed(monkeypatch):
    monkeypatch.setattr("numgrad.programs.compiled.PAUSE", 0.0)
    one = Modes()
    for _ in range(6):
        for method in (one.step, one.evaluate):
            for _ in range(3):
                method(ramp(2, 3))
    assert replays(one.step) == replays(one.evaluate) == [1]
    assert all(each.eager is None for method in (one.step, one.evaluate) for each in method.signatures.values())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.global_step, self.history, self.warm = 0, [], 2

    def forward(self, x):
        return self.fc(x)

    def advance(self):
        self.global_step += 1
        self.history.append(self.global_step)

    def extra_repr(self):
        return f"{self.global_step}"


class Warm(Net):
    def forward(self, x):
        return self.fc(x) if self.global_step >= self.warm else self.fc(x) * 0.5


@pytest.mark.parametrize("make", [lambda net: net, lambda net: net.forward, lambda net: lambda x: net(x)])
def test_attributes_that_a_module_does_not_read_may_change(make):
    net = Net()
    compiled = numgrad.compile(make(net))
    for _ in range(12):
        compiled(ramp(2, 3))
        net.advance()
    assert replays(getattr(compiled, "compiled", compiled)) == [1]


@compared_with_eager
def test_counters_outside_that_are_read(compiled, see):
    net = Warm()
    functions = compiled(net), compiled(net.forward), compiled(lambda x: net(x))
    for _ in range(5):
        see(*[f(ramp(2, 3)) for f in functions])
        net.advance()


@compared_with_eager
def test_counters_read_by_methods_that_wait(compiled, see):
    class Task:
        def __init__(self):
            self.count, self.depth, self.kinds = 1, 1, {}

        def inner(self, x):
            return x * self.count

        def outer(self, x):
            return self.inner(x) + 1

        @property
        def scale(self):
            return self.depth * 2

        @classmethod
        def made(cls):
            return cls()

        @staticmethod
        def plain(x):
            return x + offset

        def __len__(self):
            return self.depth

        def entry(self, x):
            return self.outer(x) * self.scale + len(self) + self.made().count + self.plain(x)

        def named(self, x, name="in" + "ner"):
            return getattr(self, name)(x)

    offset, task = 1, Task()
    functions = compiled(task.entry), compiled(task.named)
    for number in range(6):
        see(*[f(ramp(3)) for f in functions])
        if number == 1:
            task.count = 3
        elif number == 2:
            task.depth = 4
        elif number == 3:
            offset = 9
        elif number == 4:
            Task.__init__ = lambda self: setattr(self, "count", 7)


@compared_with_eager
def test_texts_of_objects(compiled, see):
    class Kind:
        name = "a"

        def __str__(self):
            return self.name

    kind = Kind()
    functions = compiled(lambda x: x * len(str(kind))), compiled(lambda x: x * len(f"{kind}"))
    for name in ("a", "a", "long"):
        kind.name = name
        see(*[f(ramp(3)) for f in functions])


@compared_with_eager
def test_methods_that_the_library_calls(compiled, see):
    class Scaled(optim.Optimizer):
        def __init__(self, parameters, scale):
            super().__init__(parameters, {"lr": 0.1})
            self.scale = scale

        @numgrad.no_grad()
        def step(self):
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter -= parameter.grad * group["lr"] * self.scale

    weight = nn.Parameter(numgrad.ones(3))
    optimizer = Scaled([weight], 1.0)

    def step(x):
        optimizer.zero_grad()
        (weight * x).sum().backward()
        optimizer.step()

    f = compiled(step)
    for number in range(8):
        if number == 4:
            optimizer.scale = 3.0
        elif number == 6:
            optimizer.param_groups[0]["lr"] = 0.5
        f(ramp(3))
        see(weight)


@compared_with_eager
def test_schedules_of_the_program(compiled, see):
    class Halved(optim.lr_scheduler.LRScheduler):
        def __init__(self, optimizer):
            self.factor, self.seen = 0.5, []
            super().__init__(optimizer)

        def get_lr(self):
            self.seen.append(len(self.seen))
            return [group["lr"] * self.factor for group in self.optimizer.param_groups]

    weight = nn.Parameter(numgrad.ones(3))
    optimizer = optim.SGD([weight], lr=0.1)
    schedule = Halved(optimizer)

    def step(x):
        optimizer.zero_grad()
        (weight * x).sum().backward()
        optimizer.step()

    f = compiled(step)
    for _ in range(12):
        f(ramp(3))
        see(weight, optimizer.param_groups[0]["lr"])
        schedule.step()


@compared_with_eager
def test_callbacks_that_count_outside(compiled, see):
    class Callback:
        def __init__(self):
            self.k, self.seen = 1.0, 0

        def on(self, x):
            return x * self.k

        def end(self):
            self.seen += 1

    callbacks = [Callback(), Callback()]

    def each(x):
        for callback in callbacks:
            x = callback.on(x)
        return x

    f = compiled(each)
    for number in range(14):
        see(f(ramp(3)))
        for one in callbacks:
            one.end()
        if number == 7:
            callbacks[1].k = 5.0
    if hasattr(f, "signatures"):
        assert replays(f) == [2]
