"""Messages for missing names, and completeness of the lists of these names."""

import contextlib
import difflib
import importlib
import pickle
import traceback
import types
import warnings

import pytest

import numgrad

#: Modules that only gather names, and those that have code of their own as well.
GATHERING = [
    "", "accelerator", "autograd", "cuda", "data", "distributions", "fft", "func", "linalg", "nn", "nn.functional",
    "nn.utils", "optim", "optim.lr_scheduler", "special", "utils", "utils.checkpoint", "utils.data", "viz",
]
LISTING = [*GATHERING, "distributions.constraints", "distributions.transforms", "nn.init"]


def module_of(name):
    return importlib.import_module(f"numgrad.{name}".removesuffix("."))


@pytest.mark.parametrize(
    ("owner", "name", "message"),
    [
        (numgrad, "chalf", "PyTorch has 'chalf', but numgrad does not have it yet; the nearest.*: numgrad.cfloat$"),
        (numgrad, "AliasDb", "PyTorch has 'AliasDb', but numgrad does not have it yet"),
        (numgrad, "no_such_name", "^module 'numgrad' has no attribute 'no_such_name'$"),
        (numgrad.nn, "CrossMapLRN2d", "PyTorch has 'CrossMapLRN2d', but numgrad.nn does not have it yet"),
        (numgrad.nn.functional, "conv_tbc", "PyTorch has 'conv_tbc', but numgrad.nn.functional does not have it yet"),
        (numgrad.optim, "SparseAdam", "PyTorch has 'SparseAdam', but numgrad.optim does.*: numgrad.optim.Adam$"),
        (numgrad.autograd, "kineto_available", "PyTorch has 'kineto_available', but numgrad.autograd does not"),
        (numgrad.utils.data, "DFIterDataPipe", "PyTorch has 'DFIterDataPipe', but numgrad.utils.data does not"),
        (numgrad.cuda, "graph_pool_handle", "PyTorch has 'graph_pool_handle', but numgrad.cuda does not have it yet"),
        (numgrad.ones(2), "to_sparse", "PyTorch has 'to_sparse', but numgrad has no sparse tensors: use dense ones"),
        (numgrad, "sparse_coo_tensor", "PyTorch has 'sparse_coo_tensor', but numgrad has no sparse tensors"),
        (numgrad, "quint8", "PyTorch has 'quint8', but numgrad has no quantized tensors$"),
        (numgrad, "symeig", "^PyTorch has removed 'symeig': use numgrad.linalg.eigh$"),
        (numgrad, "rfft", "^PyTorch has removed 'rfft': use numgrad.fft.rfft$"),
        (numgrad.ones(2), "solve", "^PyTorch has removed 'solve': use numgrad.linalg.solve, which takes A before B$"),
        (numgrad.linalg, "symeig", "^module 'numgrad.linalg' has no attribute 'symeig'$"),
        (numgrad.distributed, "TCPStore", "PyTorch has 'TCPStore', but MPI connects the processes without a store"),
        (numgrad.distributed, "split_group", "PyTorch has 'split_group', but numgrad.distributed does not have it yet"),
        (numgrad.ones(2), "no_such_name", "^'Tensor' object has no attribute 'no_such_name'$"),
        (numgrad.Tensor, "to_sparse", "^type object 'Tensor' has no attribute 'to_sparse'$"),
    ],
)
def test_a_name_that_is_missing(owner, name, message):
    with pytest.raises(AttributeError, match=message):
        getattr(owner, name)


def test_private_names_are_simply_absent():
    assert not hasattr(numgrad, "__wrapped__")
    assert not hasattr(numgrad.ones(2), "__cuda_array_interface__")
    assert not hasattr(numgrad.ones(2), "_no_such_name")
    with pytest.raises(ImportError):
        from numgrad import no_such_name  # noqa: F401


def test_missing_names_are_not_listed():
    assert "to_sparse" not in dir(numgrad.ones(2))
    assert {"relu", "backward", "shape"} <= set(dir(numgrad.ones(2)))
    assert not hasattr(numgrad.ones(2), "to_sparse")


@pytest.mark.parametrize("tensor", [
    numgrad.ones(2), numgrad.tensor(3), numgrad.ones(2, 2, dtype=numgrad.complex64),
    numgrad.ones(1, requires_grad=True) * 2, numgrad.nn.Parameter(numgrad.ones(2)),
], ids=["float", "integer", "complex", "result", "parameter"])
def test_whatever_a_tensor_lists_is_there(tensor):
    with warnings.catch_warnings(action="ignore"):
        for name in dir(tensor):
            with contextlib.suppress(RuntimeError):  # it is there, but not for a tensor like this
                getattr(tensor, name)


def test_asking_for_what_is_missing_does_not_search_for_what_is_near(monkeypatch):
    def searched(*args):
        raise AssertionError("searched")

    monkeypatch.setattr(difflib, "get_close_matches", searched)
    for owner, name in (numgrad, "AliasDb"), (numgrad.nn, "CrossMapLRN2d"), (numgrad.ones(2), "map2_"):
        assert not hasattr(owner, name)
        assert getattr(owner, name, None) is None
        with pytest.raises(AttributeError) as caught:
            getattr(owner, name)
        with pytest.raises(AssertionError, match="searched"):
            str(caught.value)


def test_the_error_is_one_like_any_other():
    with pytest.raises(AttributeError) as caught:
        numgrad.optim.SparseAdam  # noqa: B018
    error = caught.value
    lacks = "PyTorch has 'SparseAdam', but numgrad.optim does not have it yet"
    text = f"{lacks}; the nearest that there is: numgrad.optim.Adam"
    assert (str(error), error.args, repr(error)) == (text, (text,), f'AttributeError("{text}")')
    assert (error.name, error.obj) == ("SparseAdam", numgrad.optim)
    assert traceback.format_exception_only(error)[-1].startswith(f"AttributeError: {text}")
    stored = pickle.loads(pickle.dumps(error))
    assert (type(stored), str(stored)) == (AttributeError, text)


@pytest.mark.parametrize("name", LISTING)
def test_a_public_module_lists_what_it_exports_and_its_parts(name):
    module = module_of(name)
    for other in dir(module):
        getattr(module, other)  # modules that are imported on first access import others
    parts = {other for other in dir(module) if isinstance(getattr(module, other), types.ModuleType)}
    listed = {other for other in dir(module) if not other.startswith("_")}
    assert listed - parts == set(module.__all__) - parts
    assert set(module.__all__) <= listed


@pytest.mark.parametrize("name", GATHERING)
def test_helpers_cannot_be_reached_through_public_modules(name):
    module = module_of(name)
    private = {
        other for other, value in vars(module).items()
        if not (other.startswith("_") or other in module.__all__ or isinstance(value, types.ModuleType))
        and (getattr(value, "__module__", None) or "numgrad").partition(".")[0] in ("numgrad", "numgrad_kernels")
    }
    assert private <= {"TYPE_CHECKING", "Tensor"}


def test_lazy_names_are_those_that_their_modules_export():
    """The names are listed twice, because the module is imported only when one of them is accessed."""
    from numgrad import native_functions

    later = {name for name, module in numgrad._LATER.items() if module == "native_functions"}
    assert later == set(native_functions.__all__)


def test_missing_names_cost_the_others_nothing():
    # With a __getattr__ in the class, CPython gives up its fast way to every attribute.
    assert not any("__getattr__" in vars(cls) for cls in numgrad.Tensor.__mro__)


def test_a_subclass_may_have_them():
    class Half(numgrad.Tensor):
        def to_sparse(self):
            return 0.5

    x = numgrad.ones(2)
    x.__class__ = Half
    assert x.to_sparse() == 0.5
