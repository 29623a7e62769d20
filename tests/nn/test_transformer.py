"""Transformers: layers against explicit formulas, detected masks, derivatives and errors."""

import numpy as np
import pytest
from ops.gradients import check_gradients

import numgrad as torch
from numgrad import nn


def randoms(*shape):
    return torch.from_numpy(np.random.default_rng(len(shape)).normal(size=shape))


def drawn(kind, *sizes, **options):
    torch.manual_seed(0)
    return kind(*sizes, dropout=0.0, dtype=torch.float64, **options)


def close(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), 1e-12, 1e-14)


def test_a_layer_written_out():
    source, memory = randoms(3, 2, 4), randoms(5, 2, 4)
    encoder = drawn(nn.TransformerEncoderLayer, 4, 2, 6, activation=nn.Tanh())
    x = encoder.norm1(source + encoder.self_attn(source, source, source)[0])
    close(encoder(source), encoder.norm2(x + encoder.linear2(encoder.linear1(x).tanh())))

    decoder = drawn(nn.TransformerDecoderLayer, 4, 2, 6, activation="gelu", norm_first=True)
    normal = decoder.norm1(source)
    x = source + decoder.self_attn(normal, normal, normal)[0]
    x = x + decoder.multihead_attn(decoder.norm2(x), memory, memory)[0]
    found = x + decoder.linear2(nn.functional.gelu(decoder.linear1(decoder.norm3(x))))
    close(decoder(source, memory), found)


def test_copies_keep_an_activation_that_is_a_module():
    source, memory = randoms(3, 2, 4), randoms(5, 2, 4)
    layer = drawn(nn.TransformerDecoderLayer, 4, 2, 6, activation=nn.Tanh())
    close(nn.TransformerDecoder(layer, 2)(source, memory), layer(layer(source, memory), memory))


def test_layers_are_copies():
    layer = drawn(nn.TransformerEncoderLayer, 4, 2, 6)
    stack = nn.TransformerEncoder(layer, 2)
    assert len({id(p) for p in (*stack.parameters(), *layer.parameters())}) == 3 * len([*layer.parameters()])
    close(stack(randoms(3, 2, 4)), layer(layer(randoms(3, 2, 4))))


def test_later_elements_are_not_seen_under_a_causal_mask():
    model = drawn(nn.Transformer, 4, 2, 1, 1, 6, batch_first=True)
    source, target = randoms(2, 3, 4), randoms(2, 5, 4)
    other = torch.cat([target[:, :3], target[:, 3:] + 1], 1)
    mask = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
    for given in ({"tgt_mask": mask}, {"tgt_mask": mask < 0}, {"tgt_mask": mask, "tgt_is_causal": True}):
        close(model(source, target, **given)[:, :3], model(source, other, **given)[:, :3])
    assert not torch.allclose(model(source, target)[:, :3], model(source, other)[:, :3])


def test_padding_is_not_seen_and_left_out_in_evaluation():
    layer = drawn(nn.TransformerEncoderLayer, 4, 2, 6, batch_first=True)
    stack, source = nn.TransformerEncoder(layer, 2).eval(), randoms(2, 3, 4)
    padding = torch.tensor([[False, False, False], [False, True, True]])
    with torch.no_grad():
        found = stack(source, src_key_padding_mask=padding)
        assert found[1, 1:].tolist() == [[0.0] * 4] * 2
        close(found[0], stack(source[:1])[0])
        close(found[1, :1], stack(source[1:, :1])[0])


@pytest.mark.parametrize("norm_first", [False, True])
def test_derivatives(norm_first):
    model = drawn(nn.Transformer, 2, 1, 1, 1, 3, norm_first=norm_first, activation="gelu")
    mask = torch.randn(3, 3, dtype=torch.float64).requires_grad_()

    def program(source, target, mask):
        return model(source, target, src_mask=mask)

    check_gradients(program, randoms(3, 1, 2).requires_grad_(), randoms(2, 1, 2).requires_grad_(), mask)


def test_errors_name_shapes():
    model = drawn(nn.Transformer, 4, 2, 1, 1, 6)
    with pytest.raises(RuntimeError, match=r"equal to d_model \(4\), but their shapes are .*3, 2, 5.*2, 2, 4"):
        model(randoms(3, 2, 5), randoms(2, 2, 4))
    with pytest.raises(RuntimeError, match=r"batch number of src and tgt must be equal, .*3, 2, 4.*2, 1, 4"):
        model(randoms(3, 2, 4), randoms(2, 1, 4))
    with pytest.raises(RuntimeError, match="activation should be relu/gelu, not tanh"):
        nn.TransformerEncoderLayer(4, 2, activation="tanh")
