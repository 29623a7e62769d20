"""Short-time Fourier transforms of a signal, which is cut into overlapping frames, and their inverse."""

from __future__ import annotations

from ...tensors.tensor import Tensor
from ..creation.factories import ones, zeros
from ..creation.spaced import arange
from ..indexing.selecting import index_add
from ..pointwise.arithmetic import abs as abs_of
from ..pointwise.arithmetic import div, mul
from ..pointwise.complexes import view_as_real_op
from ..reductions.extremes import amin
from ..shapes.broadcasting import expand
from ..shapes.dimensions import squeeze_dim, transpose_op, unsqueeze
from ..shapes.padding import constant_pad, pad
from ..shapes.parts import slice_op
from ..shapes.views import reshape
from ..shapes.windows import unfold_op
from ..table.checks import check
from ..table.op import composite
from .fourier import fft_fft, fft_ifft, fft_irfft, fft_rfft


def _framing(
    name: str, input: Tensor, n_fft: int, hop_length: int | None, win_length: int | None, window: Tensor | None
) -> tuple[int, Tensor]:
    """Return the distance between frames in samples, and the window, padded with zeros to ``n_fft`` samples.

    Raises:
        RuntimeError: a length is out of range, or the window has another shape.
    """
    shape = list(input.shape)
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    check(n_fft >= 1, "{}: expected n_fft > 0, but got n_fft={}", name, n_fft, shape)
    check(hop >= 1, "{}: expected hop_length > 0, but got hop_length={}", name, hop, shape)
    if not 0 < width <= n_fft:
        raise RuntimeError(
            f"{name}: expected 0 < win_length <= n_fft, but got win_length={width}, n_fft={n_fft} (shape {shape})"
        )
    if window is None:
        window = ones(width, device=input.device, dtype=input.real.dtype)
    elif window._layout.shape != (width,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={width}, but got window with size "
            f"{list(window.shape)}"
        )
    before = (n_fft - width) // 2
    return hop, constant_pad(window, (before, n_fft - width - before), 0) if width < n_fft else window


@composite
def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None,
) -> Tensor:
    """The Fourier transforms of the frames of a signal, of shape (..., frequencies, frames).

    Args:
        input: a signal, of shape (samples,), or a batch of signals.
        n_fft: the number of samples of a frame, and of frequencies; if ``onesided``, there are ``n_fft // 2 + 1``
            frequencies.
        hop_length: the number of samples from one frame to the next, ``n_fft // 4`` by default.
        win_length: the size of the window, ``n_fft`` by default; a smaller window is put in the middle of the frame.
        window: the factors of the samples of each frame, 1 by default.
        center: True to pad the signal by ``n_fft // 2`` samples on both sides, so that frame ``t`` has sample
            ``t * hop_length`` in its middle.
        pad_mode: the kind of this padding; see ``nn.functional.pad``.
        normalized: True to divide the result by the square root of ``n_fft``.
        onesided: True to omit the conjugate half of the frequencies: the default for real signals and windows.
        return_complex: True for a complex result, False for real and imaginary parts in a last dimension of size 2;
            required for real signals.

    Raises:
        RuntimeError: a length is out of range, shapes do not fit, or the elements are integers.
    """
    shape = input._layout.shape
    check(len(shape) in (1, 2), "stft: expected a 1D or 2D tensor, not {}", shape)
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"stft: expected a tensor of floating point or complex values, not {input.dtype}")
    any_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        check(
            any_complex,
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release.",
        )
        return_complex = True
    onesided = not any_complex if onesided is None else onesided
    check(not onesided or not any_complex, "Cannot have onesided output if window or input is complex")
    signal = reshape(input, (1, *shape)) if len(shape) == 1 else input
    if center and n_fft > 0:
        signal = squeeze_dim(pad(unsqueeze(signal, 0), (n_fft // 2, n_fft // 2), pad_mode), 0)
    samples = signal._layout.shape[-1]
    check(n_fft <= samples, "stft: expected 0 < n_fft <= {}, but got n_fft={}", samples, n_fft, shape)
    hop, window = _framing("stft", input, n_fft, hop_length, win_length, window)
    frames = mul(unfold_op(signal, 1, n_fft, hop), window)
    transform = fft_rfft if onesided else fft_fft
    spectra = transpose_op(transform(frames, norm="ortho" if normalized else None), 1, 2)
    spectra = squeeze_dim(spectra, 0) if len(shape) == 1 else spectra
    return spectra if return_complex else view_as_real_op(spectra)


@composite
def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
    length: int | None = None, return_complex: bool = False,
) -> Tensor:
    """The signal, of shape (..., samples), whose ``stft`` with the same arguments is ``input``.

    Where frames overlap and contradict each other, the signal is the closest one in the sense of least squares.

    Args:
        length: the number of samples of the result; samples beyond the frames are 0.  By default it has the samples of
            all frames, without the ``n_fft // 2`` samples on both sides that ``center`` added.
        return_complex: True if the signal was complex.

    Raises:
        RuntimeError: a length is out of range, shapes do not fit, or the squares of the windows sum to 0 somewhere.
    """
    shape = input._layout.shape
    check(
        input.is_complex(),
        "istft requires a complex-valued input tensor matching the output from stft with return_complex=True.",
    )
    check(len(shape) in (2, 3) and input._layout.size, "istft: expected a 2D or 3D tensor with elements, not {}", shape)
    count, frequencies = shape[-1], shape[-2]
    onesided = frequencies != n_fft if onesided is None else onesided
    check(not onesided or not return_complex, "istft: cannot have onesided input if a complex signal is to be made")
    check(
        frequencies == (n_fft // 2 + 1 if onesided else n_fft), "istft: expected {} frequencies for n_fft={}, not {}",
        'n_fft // 2 + 1' if onesided else 'n_fft', n_fft, frequencies, shape,
    )
    hop, window = _framing("istft", input, n_fft, hop_length, win_length, window)
    norm = "ortho" if normalized else None
    spectra = transpose_op(reshape(input, (1, *shape)) if len(shape) == 2 else input, 1, 2)
    if return_complex:
        frames = fft_ifft(spectra, norm=norm)
    elif onesided:
        frames = fft_irfft(spectra, n_fft, norm=norm)
    else:
        frames = fft_irfft(slice_op(spectra, 2, 0, n_fft // 2 + 1, 1), n_fft, norm=norm)
    start = n_fft // 2 if center else 0
    reached = n_fft + hop * (count - 1)
    stop = start + length if length is not None else reached - start
    stop = min(stop, reached)
    signal = slice_op(_overlapped(mul(frames, window), hop), 1, start, stop, 1)
    squares = expand(mul(window, window), (1, count, n_fft))
    weights = slice_op(_overlapped(squares, hop), 1, start, stop, 1)
    least = amin(abs_of(weights)).item() if weights._layout.size else 0
    if least < 1e-11:
        raise RuntimeError(
            f"istft: the squares of the windows sum to {least} somewhere, where the signal is undetermined "
            f"(n_fft={n_fft}, hop_length={hop}, shape {list(shape)})"
        )
    result = div(signal, weights)
    if length is not None and start + length > stop:
        result = constant_pad(result, (0, start + length - stop), 0)
    return squeeze_dim(result, 0) if len(shape) == 2 else result


def _overlapped(frames: Tensor, hop: int) -> Tensor:
    """Return the sum of frames (batch, frames, n_fft) that begin ``hop`` samples apart, as (batch, samples)."""
    batch, count, width = frames._layout.shape
    samples = width + hop * (count - 1)
    total = zeros(batch, samples, dtype=frames.dtype, device=frames.device)
    positions = unfold_op(arange(samples, device=frames.device), 0, width, hop)
    return index_add(total, 1, reshape(positions, (-1,)), reshape(frames, (batch, -1)))
