"""Every module compiled: outputs, gradients, buffers and random numbers are those of the module itself, bit for bit."""

import copy

import numpy as np
import pytest
from nn.test_against_torch import MODULES
from nn.test_image_layers_against_torch import LAYERS as IMAGE_LAYERS
from nn.test_normalization_against_torch import LAYERS as NORMALIZATIONS
from nn.test_recurrent_against_torch import CELLS
from nn.test_recurrent_against_torch import LAYERS as RECURRENT
from nn.test_transformer_against_torch import NAMES, made
from programs.comparison import replays

import numgrad
from numgrad import nn

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}")
    for text in ("enable_nested_tensor is True", "dropout option adds", "Initializing zero-element tensors")
]

ROWS, LINES, IMAGES, VOLUMES = (6, 4), (2, 4, 8), (2, 4, 6, 6), (1, 4, 4, 4, 4)
SIGNS, INDICES, PROBABILITIES, VALUES = "signs", "indices", "probabilities", "values"

#: Modules as text, and their inputs: shapes of random numbers, or other kinds of inputs with their shapes.
OTHERS = [
    *[(text, [ROWS]) for text in MODULES],
    ("ReLU(inplace=True)", [ROWS]), ("RReLU()", [ROWS]), ("Dropout(0.4, inplace=True)", [ROWS]),
    ("Dropout1d(0.3)", [LINES]), ("Dropout2d(0.3)", [IMAGES]), ("Dropout3d(0.3)", [VOLUMES]),
    ("AlphaDropout(0.3)", [ROWS]), ("FeatureAlphaDropout(0.3)", [IMAGES]), ("Softmax2d()", [IMAGES]),
    ("Conv1d(4, 6, 3, padding='same')", [LINES]), ("Conv2d(4, 6, 3, 2, 1, groups=2)", [IMAGES]),
    ("Conv2d(4, 4, 3, padding=1, padding_mode='circular', bias=False)", [IMAGES]), ("Conv3d(4, 2, 2)", [VOLUMES]),
    ("ConvTranspose1d(4, 3, 3)", [LINES]), ("ConvTranspose2d(4, 6, 3, 2, 1, 1, 2)", [IMAGES]),
    ("ConvTranspose3d(4, 2, 2)", [VOLUMES]), ("Unfold(3, 1, 2, 2)", [IMAGES]), ("Fold((4, 5), (2, 2))", [(2, 8, 12)]),
    ("SyncBatchNorm(4)", [IMAGES]), ("Bilinear(4, 3, 2)", [ROWS, (6, 3)]),
    ("CosineSimilarity()", [ROWS, ROWS]), ("PairwiseDistance()", [ROWS, ROWS]),
    ("Embedding(5, 3)", [(INDICES, (2, 3))]), ("Embedding(5, 3, padding_idx=2)", [(INDICES, (2, 3))]),
    ("Embedding(5, 3, max_norm=0.5)", [(INDICES, (2, 3))]), ("EmbeddingBag(5, 3)", [(INDICES, (2, 3))]),
    ("EmbeddingBag(5, 3, mode='sum')", [(INDICES, (2, 3))]), ("EmbeddingBag(5, 3, mode='max')", [(INDICES, (2, 3))]),
    ("L1Loss()", [ROWS, ROWS]), ("MSELoss(reduction='sum')", [ROWS, ROWS]), ("SmoothL1Loss(beta=0.5)", [ROWS, ROWS]),
    ("HuberLoss('none', 0.5)", [ROWS, ROWS]), ("KLDivLoss(reduction='batchmean')", [ROWS, (PROBABILITIES, ROWS)]),
    ("BCELoss()", [(PROBABILITIES, ROWS), (PROBABILITIES, ROWS)]),
    ("BCEWithLogitsLoss()", [ROWS, (PROBABILITIES, ROWS)]),
    ("PoissonNLLLoss(full=True)", [ROWS, (PROBABILITIES, ROWS)]), ("SoftMarginLoss()", [ROWS, (SIGNS, ROWS)]),
    ("GaussianNLLLoss()", [ROWS, ROWS, (PROBABILITIES, ROWS)]), ("HingeEmbeddingLoss()", [ROWS, (SIGNS, ROWS)]),
    ("CrossEntropyLoss(label_smoothing=0.1)", [(6, 5), (INDICES, (6,))]),
    ("CrossEntropyLoss()", [(6, 5), (PROBABILITIES, (6, 5))]),
    ("NLLLoss(numgrad.arange(5.0), ignore_index=1)", [(6, 5), (INDICES, (6,))]),
    ("MarginRankingLoss(0.5)", [(6,), (6,), (SIGNS, (6,))]), ("CosineEmbeddingLoss()", [ROWS, ROWS, (SIGNS, (6,))]),
    ("TripletMarginLoss(swap=True)", [ROWS, ROWS, ROWS]), ("TripletMarginWithDistanceLoss()", [ROWS, ROWS, ROWS]),
    ("MultiMarginLoss()", [(6, 5), (INDICES, (6,))]), ("MultiLabelMarginLoss()", [(6, 5), (INDICES, (6, 5))]),
    ("MultiLabelSoftMarginLoss()", [(6, 5), (PROBABILITIES, (6, 5))]),
    ("LinearCrossEntropyLoss(4, 5)", [ROWS, (INDICES, (6,))]),
    ("AdaptiveLogSoftmaxWithLoss(4, 5, [2, 3])", [ROWS, (INDICES, (6,))]),
    ("MultiheadAttention(4, 2, 0.3)", [(5, 2, 4)] * 3),
    ("MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True)", [(5, 2, 4)] * 3),
    ("Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d(), nn.LazyLinear(2))", [ROWS]),
    ("Sequential(nn.LazyConv2d(3, 2), nn.LazyInstanceNorm2d(), nn.LazyConvTranspose2d(2, 2))", [IMAGES]),
    ("MaxUnpool1d(2)", [(1, 1, 3), (INDICES, (1, 1, 3))]),
    ("MaxUnpool2d(2)", [(1, 1, 3, 3), (INDICES, (1, 1, 3, 3))]),
    ("MaxUnpool3d(2)", [(1, 1, 2, 2, 2), (INDICES, (1, 1, 2, 2, 2))]),
    ("CTCLoss()", [(6, 2, 5), (INDICES, (2, 2)), (VALUES, (6, 6)), (VALUES, (2, 2))]),
]

#: Modules that are not compiled, because they read elements or change the graph of their input; in training alone.
AS_THEY_ARE = {
    "AdaptiveLogSoftmaxWithLoss(4, 5, [2, 3])", "GaussianNLLLoss()", "ReLU(inplace=True)", "normalization 1",
    "Dropout(0.4, inplace=True)", "RReLU()", "MultiLabelMarginLoss()",
}
IN_TRAINING = {"normalization 1", "Dropout(0.4, inplace=True)", "RReLU()"}

CASES = [
    *[(text, lambda text=text: eval(text, vars(nn) | {"numgrad": numgrad, "nn": nn}), given) for text, given in OTHERS],
    *[(f"image layer {n}", lambda make=make: make(nn), [size]) for n, (make, size) in enumerate(IMAGE_LAYERS) if size],
    *[(f"normalization {n}", lambda make=make: make(nn), [shape]) for n, (make, shape) in enumerate(NORMALIZATIONS)],
    *[(name, lambda make=make: make(nn), [(4, 2, 3)]) for name, make in RECURRENT.items()],
    *[(f"cell {n}", lambda make=make: make(nn), [(2, 3)]) for n, make in enumerate(CELLS)],
    *[
        (name, lambda name=name: made(numgrad, name) if name in NAMES[:3] else getattr(nn, name)(4, 2, 6),
         [(5, 2, 4)] * (1 if "Encoder" in name else 2))
        for name in NAMES
    ],
]


def inputs_of(specifications, number):
    random = np.random.default_rng(number)
    result = []
    for specification in specifications:
        kind, shape = specification if isinstance(specification[0], str) else ("", specification)
        if kind == INDICES:
            result.append(numgrad.from_numpy(random.integers(0, 5, shape)))
        elif kind == VALUES:
            result.append(shape)
        elif kind == SIGNS:
            result.append(numgrad.from_numpy(random.choice((-1.0, 1.0), shape).astype("float32")))
        elif kind == PROBABILITIES:
            result.append(numgrad.from_numpy(random.uniform(0.1, 0.9, shape).astype("float32")))
        else:
            result.append(numgrad.from_numpy(random.normal(0, 1, shape).astype("float32")))
    return result


def flat(values):
    if isinstance(values, tuple | list):
        return [one for value in values for one in flat(value)]
    return [] if values is None else [values]


def bits(tensor):
    return None if tensor is None else (tensor.dtype, tuple(tensor.shape), tensor.detach().numpy().tobytes())


def seen(call, module, specifications, number, recorded):
    """Outputs, gradients, parameters, buffers and the next random number."""
    inputs = inputs_of(specifications, number)
    first = inputs[0]
    if recorded and first.is_floating_point():
        first.requires_grad_()
        inputs[0] = first * 1  # in-place modules change their input
    numgrad.manual_seed(number)
    module.zero_grad()
    outputs = flat(call(*inputs))
    graded = [output for output in outputs if output.requires_grad]
    if recorded and graded:
        numgrad.autograd.backward(graded, [tensor.detach() * 0.5 + 1 for tensor in graded])
    changed = [*module.parameters(), *module.buffers()]
    grads = [first.grad, *[parameter.grad for parameter in module.parameters()]]
    return [*map(bits, outputs), *map(bits, grads), *map(bits, changed), numgrad.rand(1).item()]


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize(("name", "make", "inputs"), CASES, ids=[case[0] for case in CASES])
def test_bits_are_those_of_the_module_itself(name, make, inputs, training):
    numgrad.manual_seed(0)
    own = make().train(training)
    if any(isinstance(parameter, nn.UninitializedParameter) for parameter in own.parameters()):
        own(*inputs_of(inputs, 0))  # lazy modules take their shapes from that
    other = copy.deepcopy(own)
    compiled = numgrad.compile(own)
    if name not in AS_THEY_ARE or (not training and name in IN_TRAINING):
        check(compiled, own, other, inputs)
        assert all(signature.programs for signature in compiled.compiled.signatures.values())
    else:
        with pytest.warns(UserWarning, match="needs values|the graph of a tensor"):
            check(compiled, own, other, inputs)


def check(compiled, own, other, inputs):
    for recorded in (True, False):
        with numgrad.set_grad_enabled(recorded):
            for number in (1, 2, 3, 1):
                assert seen(compiled, own, inputs, number, recorded) == seen(other, other, inputs, number, recorded)


def test_no_module_is_left_out():
    bases = {"Module", "RNNBase", "RNNCellBase", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList"}
    numgrad.manual_seed(0)
    tried = {type(part).__name__ for _, make, _ in CASES for part in make().modules()}
    left = set(nn.modules.__all__) - tried - bases
    assert {name for name in left if not name.startswith("Lazy")} == set()


def test_a_lazy_module_gets_its_shape_and_is_compiled():
    results = []
    for wrap in (lambda module: module, numgrad.compile):
        numgrad.manual_seed(0)
        module = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
        call = wrap(module)
        results.append([call(numgrad.ones(2, 4) * number).tolist() for number in range(4)])
    assert results[0] == results[1]
    assert replays(call.compiled) == [1]
