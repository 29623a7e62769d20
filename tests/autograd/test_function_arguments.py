"""Calls of a Function: keyword arguments and defaults, refused forms, parameter names."""

import pickle

import pytest
from autograd_functions import Cube

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import Function
from numgrad.autograd.function import BackwardCFunction, FunctionCtx, FunctionMeta, InplaceFunction


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


class Scale(Function):
    @staticmethod
    def forward(ctx, x, factor=3, offset=0):
        ctx.factor = factor
        ctx.count = len(ctx.needs_input_grad)
        return x * factor + offset

    @staticmethod
    def backward(ctx, g):
        return (g * ctx.factor, None, None)[: ctx.count]


class Separate(Function):
    @staticmethod
    def forward(x, factor=3, *rest):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.inputs = inputs[1:]

    @staticmethod
    def backward(ctx, g):
        return (g * ctx.inputs[0], *[None] * len(ctx.inputs))


# --- arguments --------------------------------------------------------------------------


def test_keyword_arguments_take_the_place_that_the_signature_gives_them(x):
    y = Scale.apply(x, factor=5)
    assert y.grad_fn.needs_input_grad == (True, False)
    assert y.tolist() == [5.0, 10.0]
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]
    assert Scale.apply(factor=2, x=x).tolist() == [2.0, 4.0]
    offset = ones(2, requires_grad=True)
    assert Scale.apply(x, offset=offset, factor=2).grad_fn.needs_input_grad == (True, False, True)


def test_without_setup_context_defaults_are_not_inputs(x):
    assert Scale.apply(x).grad_fn.needs_input_grad == (True,)


def test_with_setup_context_defaults_are_inputs(x):
    for y, inputs in [
        (Separate.apply(x), (3,)), (Separate.apply(x, 4), (4,)), (Separate.apply(factor=5, x=x), (5,)),
        (Separate.apply(x, 6, 7, 8), (6, 7, 8)),
    ]:  # fmt: skip
        assert y.grad_fn.inputs == inputs
        assert y.grad_fn.needs_input_grad == (True, *[False] * len(inputs))
        y.sum().backward()


@pytest.mark.parametrize(("keywords", "message"), [
    ({"other": 3}, "unexpected keyword argument 'other'"),
    ({"x": 3}, "multiple values for argument 'x'"),
])
@pytest.mark.parametrize("function", [Scale, Separate])
def test_keywords_that_do_not_fit(x, function, keywords, message):
    with pytest.raises(TypeError, match=message):
        function.apply(x, **keywords)


def test_missing_arguments(x):
    with pytest.raises(TypeError, match=r"forward\(\) missing required argument: 'factor' \(position 1\)"):
        Scale.apply(x, offset=1)
    with pytest.raises(TypeError, match="missing"):
        Scale.apply()
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        Separate.apply()


def test_keyword_only_parameters_are_refused(x):
    class Only(Separate):
        @staticmethod
        def forward(x, *, factor=3):
            return x * factor

    with pytest.raises(TypeError, match="unexpected keyword argument 'factor'"):
        Only.apply(x, factor=2)


def test_a_replaced_forward_is_asked_for_its_own_parameters(x):
    class Changing(Separate):
        pass

    assert Changing.apply(x).grad_fn.inputs == (3,)
    Changing.forward = staticmethod(lambda x, factor=9, more=1: x * factor)
    assert Changing.apply(x).grad_fn.inputs == (9, 1)


def test_setup_context_is_inherited_and_can_be_undone(x):
    class Inherits(Separate):
        @staticmethod
        def forward(x, factor=7):
            return x * factor

    class Combined(Scale, Separate):
        setup_context = Function.setup_context

    assert Inherits.apply(x).grad_fn.inputs == (7,)
    assert Combined.apply(x).grad_fn.factor == 3


def test_class_methods(x):
    class OfTheClass(Function):
        factor = 4

        @classmethod
        def forward(cls, x):
            return x * cls.factor

        @classmethod
        def setup_context(cls, ctx, inputs, output):
            ctx.factor = cls.factor

        @classmethod
        def backward(cls, ctx, g):
            return g * ctx.factor

    OfTheClass.apply(x).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


# --- forms that are refused -------------------------------------------------------------


def test_instances_are_of_no_use(x):
    with pytest.warns(DeprecationWarning, match="Scale'> should not be instantiated"):
        instance = Scale()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        instance(x)
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        assert InplaceFunction(inplace=True).inplace


def test_methods_that_are_not_static(x):
    class Plain(Function):
        def forward(self, x):
            return x * 2

        def backward(self, g):
            return g * 2

    Plain.apply(x).sum().backward()  # the parameter called self is the context
    assert x.grad.tolist() == [2.0, 2.0]


def test_vjp_is_another_name_of_backward(x):
    class ByVjp(Function):
        forward = Scale.forward

        @staticmethod
        def vjp(ctx, g):
            return g * 5

    class Both(ByVjp):
        backward = Scale.backward

    ByVjp.apply(x).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]
    y = Both.apply(x)
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp' for a custom Function is not allow"):
        y.sum().backward()


@pytest.mark.parametrize(("name", "arguments", "message"), [
    ("forward", (None, 1), "You must implement the forward function"),
    ("setup_context", (None, (), 1), "setup_context is not implemented"),
    ("backward", (None, 1), "You must implement either the backward or vjp method"),
    ("vjp", (None, 1), "You must implement either the backward or vjp method"),
    ("jvp", (None, 1), "You must implement the jvp function"),
    ("vmap", (None, (0,), 1), "either override the vmap staticmethod or set generate_vmap_rule=True"),
])
def test_undefined_methods(name, arguments, message):
    with pytest.raises(NotImplementedError, match=message):
        getattr(Function, name)(*arguments)
    assert Function.generate_vmap_rule is False


# --- names ------------------------------------------------------------------------------


def test_classes(x):
    node = Scale.apply(x).grad_fn
    assert isinstance(Scale, FunctionMeta)
    assert issubclass(Scale, FunctionCtx)
    assert isinstance(node, BackwardCFunction)
    assert type(node) is Scale._backward_cls
    assert numgrad.autograd.Function is numgrad.autograd.function.Function
    with pytest.raises(TypeError, match="'ScaleBackward' object is not callable"):
        node(ones(2))


def test_functions_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(Cube)) is Cube


def test_a_context_of_ones_own(x):
    ctx = FunctionCtx()  # to try forward without recording it
    assert Scale.forward is not None
    ctx.needs_input_grad = (True,)
    assert Scale.forward(ctx, x.detach(), 2).tolist() == [2.0, 4.0]
    ctx.save_for_backward(x)
    assert ctx.to_save == (x,)
    assert ctx.factor == 2


def test_a_later_backward_counts(x):
    class Later(Function):
        forward = Scale.forward
        backward = staticmethod(lambda ctx, g: g * 2)

    y = Later.apply(x)
    Later.backward = staticmethod(lambda ctx, g: g * 9)
    y.sum().backward()
    assert x.grad.tolist() == [9.0, 9.0]
