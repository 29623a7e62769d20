"""state_dict and load_state_dict: saved and loaded values, errors and their messages, and hooks."""

import pytest
from nn_models import Net, refusal

import numgrad as torch
from numgrad import nn

KEYS = ["scale", "steps", "first.weight", "first.bias", "body.1.weight"]


# --- out --------------------------------------------------------------------------------


def test_a_state_shares_the_memory_without_the_graph():
    net = Net(torch)
    state = net.state_dict()
    assert list(state) == KEYS
    assert not state["scale"].requires_grad
    state["scale"].fill_(7)
    assert net.scale.item() == 7.0
    assert net.state_dict(keep_vars=True)["scale"] is net.scale


def test_a_state_can_be_added_to_another_under_a_prefix():
    state = {"epoch": 3}
    assert Net(torch).state_dict(destination=state, prefix="net.") is state
    assert list(state) == ["epoch", *[f"net.{key}" for key in KEYS]]


def test_the_state_knows_versions():
    class Versioned(nn.Linear):
        _version = 5

    metadata = nn.Sequential(Versioned(1, 1)).state_dict()._metadata
    assert metadata == {"": {"version": 1}, "0": {"version": 5}}


# --- in ---------------------------------------------------------------------------------


def test_round_trip():
    torch.manual_seed(1)
    source, target = Net(torch), Net(torch)
    parameters = list(target.parameters())
    source.steps.fill_(9)
    result = target.load_state_dict(source.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert (result.missing_keys, result.unexpected_keys) == ([], [])
    assert target.steps.item() == 9
    x = torch.ones(1, 2)
    assert target(x).tolist() == source(x).tolist()
    assert all(new is old for new, old in zip(target.parameters(), parameters, strict=True))


def test_mismatches_are_listed():
    net = Net(torch)
    state = net.state_dict()
    del state["scale"], state["first.bias"]
    state["first.weight"] = torch.ones(3)
    state["body.1.weight"] = 5
    state["other"] = state["body.0.x"] = state["first.weight.y"] = torch.ones(1)
    before = [parameter.tolist() for parameter in net.parameters()]
    assert refusal(lambda: net.load_state_dict(state)) == (
        "RuntimeError: Error(s) in loading state_dict for Net:\n"
        '\tMissing key(s) in state_dict: "scale", "first.bias". \n'
        '\tUnexpected key(s) in state_dict: "other", "first.weight.y", "body.0.x". \n'
        "\tsize mismatch for first.weight: copying a param with shape torch.Size([3]) from checkpoint, the shape in "
        "current model is torch.Size([3, 2]).\n"
        '\tWhile copying the parameter named "body.1.weight", expected torch.Tensor or Tensor-like object from '
        "checkpoint but received <class 'int'>"
    )
    assert [parameter.tolist() for parameter in net.parameters()] == before


def test_not_strict():
    net = Net(torch)
    result = net.load_state_dict({"scale": torch.tensor(5.0), "no.such": torch.ones(1)}, strict=False)
    assert net.scale.item() == 5.0
    assert repr(result) == (
        "_IncompatibleKeys(missing_keys=['steps', 'first.weight', 'first.bias', 'body.1.weight'], "
        "unexpected_keys=['no.such'])"
    )
    mismatch = refusal(lambda: net.load_state_dict({"first.bias": torch.ones(7)}, strict=False))
    assert mismatch.endswith(
        "\n\tsize mismatch for first.bias: copying a param with shape torch.Size([7]) from checkpoint, the shape in "
        "current model is torch.Size([3])."
    )


def test_a_state_is_a_mapping():
    assert refusal(lambda: Net(torch).load_state_dict([1])) == (
        "TypeError: Expected state_dict to be dict-like, got <class 'list'>."
    )


def test_assign_takes_the_tensors_themselves():
    net = nn.Linear(2, 1)
    net.weight.requires_grad_(False)
    weight, bias = torch.ones(1, 2, dtype=torch.float64), nn.Parameter(torch.zeros(1), requires_grad=False)
    net.load_state_dict({"weight": weight, "bias": bias}, assign=True)
    assert net.bias is bias
    assert bias.requires_grad
    assert (net.weight.dtype, net.weight.requires_grad, type(net.weight)) == (torch.float64, False, nn.Parameter)
    weight.fill_(3)
    assert net.weight.tolist() == [[3.0, 3.0]]


def test_values_are_converted():
    net = nn.Linear(2, 1)
    net.load_state_dict({"weight": torch.tensor([[1, 2]]), "bias": torch.tensor([0.5], dtype=torch.float64)})
    assert (net.weight.tolist(), net.weight.dtype, net.bias.dtype) == ([[1.0, 2.0]], torch.float32, torch.float32)


def test_a_number_may_have_been_kept_as_a_vector():
    net = Net(torch)
    net.load_state_dict({**net.state_dict(), "scale": torch.tensor([4.0])})
    assert net.scale.item() == 4.0
    for shape in ([0], [2]):
        with pytest.raises(RuntimeError, match="size mismatch for scale"):
            net.load_state_dict({**net.state_dict(), "scale": torch.ones(shape)})
    assert net.scale.item() == 4.0


# --- extra state, overriding ------------------------------------------------------------


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0

    def get_extra_state(self):
        return {"count": self.count}

    def set_extra_state(self, state):
        self.count = state["count"]


def test_extra_state():
    source, target = nn.Sequential(Counted()), nn.Sequential(Counted())
    source[0].count = 3
    assert source.state_dict() == {"0._extra_state": {"count": 3}}
    target.load_state_dict(source.state_dict())
    assert target[0].count == 3
    assert 'Missing key(s) in state_dict: "0._extra_state". ' in refusal(lambda: target.load_state_dict({}))
    refused = refusal(lambda: nn.Sequential(nn.ReLU()).load_state_dict(source.state_dict()))
    assert 'Unexpected key(s) in state_dict: "0._extra_state". ' in refused


def test_a_module_may_convert_an_older_state():
    class Renamed(nn.Linear):
        _version = 2

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
            if local_metadata.get("version", 1) < 2:
                state_dict[prefix + "weight"] = state_dict.pop(prefix + "kernel")
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    model = nn.Sequential(Renamed(1, 1))
    given = {"0.kernel": torch.tensor([[2.0]]), "0.bias": torch.zeros(1)}
    model.load_state_dict(given)
    assert model[0].weight.item() == 2.0
    assert list(given) == ["0.kernel", "0.bias"]
    model.load_state_dict(model.state_dict())


# --- hooks ------------------------------------------------------------------------------


def test_hooks_of_state_dict():
    net, seen = nn.Sequential(nn.Linear(1, 1)), []
    net[0].register_state_dict_pre_hook(lambda module, prefix, keep_vars: seen.append((module, prefix, keep_vars)))
    handle = net[0].register_state_dict_post_hook(
        lambda module, state, prefix, metadata: state.pop(prefix + "bias") and None
    )
    assert list(net.state_dict()) == ["0.weight"]
    assert seen == [(net[0], "0.", False)]
    handle.remove()
    assert list(net.state_dict()) == ["0.weight", "0.bias"]
    net.register_state_dict_post_hook(lambda *args: 3)
    assert refusal(net.state_dict) == "RuntimeError: state_dict post-hook must return None"


def test_hooks_of_load_state_dict():
    net, seen = nn.Sequential(nn.Linear(1, 1)), []

    def rename(module, state, prefix, metadata, strict, missing, unexpected, errors):
        seen.append((module, prefix, strict, missing, unexpected, errors))
        state[prefix + "weight"] = state.pop(prefix + "w")

    def forgive(module, keys):
        keys.missing_keys.clear()

    net[0].register_load_state_dict_pre_hook(rename)
    net.register_load_state_dict_post_hook(forgive)
    result = net.load_state_dict({"0.w": torch.tensor([[3.0]])})
    assert seen[0][:3] == (net[0], "0.", True)
    assert net[0].weight.item() == 3.0
    assert result.missing_keys == []
    net.register_load_state_dict_post_hook(lambda module, keys: 3)
    assert refusal(lambda: net.load_state_dict({"0.w": torch.ones(1, 1)})).startswith("AssertionError: Hooks reg")


@pytest.mark.parametrize("strict", [True, False])
def test_an_exception_of_the_copy_is_reported(strict):
    net = nn.Linear(2, 1)
    net.weight.data = torch.zeros(1, 1).expand(1, 2)
    refused = refusal(lambda: net.load_state_dict({"weight": torch.ones(1, 2), "bias": torch.ones(1)}, strict))
    assert 'While copying the parameter named "weight", whose dimensions in the model are torch.Size([1, 2])' in refused
    assert net.bias.item() == 1.0


class Renamed(nn.Module):
    """A module whose state has an older name, read and written by hooks under PyTorch's private names."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self._register_load_state_dict_pre_hook(self._read)
        self._register_load_state_dict_pre_hook(lambda *arguments: seen.append(arguments[0]), with_module=True)
        self._register_state_dict_hook(lambda module, state, prefix, metadata: {"older": state["weight"]})

    def _read(self, state, prefix, metadata, strict, missing, unexpected, errors):
        state[f"{prefix}weight"] = state.pop(f"{prefix}older")


seen = []


def test_hooks_registered_by_the_private_names():
    module = Renamed()
    state = module.state_dict()
    assert list(state) == ["older"]
    assert str(module.load_state_dict({"older": torch.full((1,), 3.0)})) == "<All keys matched successfully>"
    assert (module.weight.item(), seen) == (3.0, [module])
