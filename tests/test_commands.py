"""``python -m numgrad``: once run as a person runs it, otherwise in this process, which has imported it already."""

import io
import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from environments import python_with
from tqdm import tqdm

import numgrad
from numgrad.__main__ import main
from numgrad.commands.train import _run
from numgrad.commands.warm import NETWORKS, _train
from numgrad.data import digits, load_digits
from numgrad.ops import ops
from numgrad.ops.table.op import composites
from numgrad.utils.data import Subset


@pytest.fixture
def run(capsys):
    """Return a function that runs a command and returns its exit status and its output."""

    def command(*arguments: str) -> subprocess.CompletedProcess:
        try:
            status = main(arguments)
        except SystemExit as end:
            status = end.code
        return subprocess.CompletedProcess(arguments, status, *capsys.readouterr())

    return command


def accuracy(output: str) -> float:
    text = r"([\d.]+)% of 359 held-out digits read correctly.*, after \d+ epochs? in [\d.]+ s$"
    match = re.match(text, output)
    assert match, output
    return float(match[1])


def test_train_digits_reaches_its_accuracy_shows_progress_and_saves(tmp_path):
    file = tmp_path / "model.pt"
    command = [python_with("core"), "-m", "numgrad", "train", "digits", "--save", str(file)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    scored, saved = result.stdout.strip().splitlines()
    assert accuracy(scored) >= 95
    assert saved == f"saved in {file}"
    assert "100%" in result.stderr
    assert "loss=" in result.stderr
    assert "accuracy=" in result.stderr


def test_the_options_of_train_matter_and_the_seed_decides(run):
    options = ["--epochs", "1", "--batch-size", "100", "--hidden", "16", "--lr", "0.01", "--seed", "3"]
    first, second = (run("train", "digits", *options) for _ in range(2))
    assert "/15 " in first.stderr  # 1438 digits in batches of 100
    assert accuracy(first.stdout.strip()) == accuracy(second.stdout.strip())
    assert "after 1 epoch in" in first.stdout


def test_a_saved_model_scores_as_it_did(run, tmp_path):
    file = tmp_path / "model.pt"
    trained = run("train", "digits", "--epochs", "2", "--seeds", "2", "--hidden", "16", "--save", str(file))
    assert trained.returncode == 0, trained.stderr
    first, second = trained.stdout.strip().splitlines()
    assert "mean of 2 seeds (" in first
    assert second == f"saved in {file}"
    alone = run("train", "digits", "--epochs", "2", "--seed", "1", "--hidden", "16")
    scored = run("score", "digits", str(file))
    assert scored.returncode == 0, scored.stderr
    assert scored.stdout.startswith(f"{accuracy(alone.stdout.strip())}% of 359 held-out digits read correctly")
    file.write_bytes(file.read_bytes()[:-100])
    damaged = run("score", "digits", str(file))
    assert damaged.returncode == 1
    assert str(file) in damaged.stderr
    missing = run("score", "digits", str(tmp_path / "none"))
    assert missing.returncode == 1
    assert "none" in missing.stderr


def test_a_convnet_reads_more_of_them(run, tmp_path):
    file = tmp_path / "model.pt"
    trained = run("train", "digits", "--model", "cnn", "--epochs", "4", "--save", str(file))
    assert trained.returncode == 0, trained.stderr
    first_line = trained.stdout.strip().splitlines()[0]
    assert accuracy(first_line) >= 95
    scored = run("score", "digits", str(file))
    assert scored.stdout.startswith(f"{accuracy(first_line)}% of 359 held-out digits read correctly")


@pytest.mark.parametrize(("option", "name", "message"), [
    ("--save", "none/file.pt", "the directory of .* does not exist"), ("--save", "", ".* is a directory"),
    ("--plot", "none/file.svg", "the directory of .* does not exist"), ("--plot", "", ".* is a directory"),
    ("--plot", "file.txt", ".*file.txt: matplotlib draws files of the types .*svg"),
    ("--save", "/proc/model.pt", ".*"), ("--plot", "/proc/runs.svg", ".*"),
])  # fmt: skip
def test_a_file_that_cannot_be_written_is_noticed_before_the_training(run, tmp_path, option, name, message):
    result = run("train", "digits", option, str(tmp_path / name))
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert re.match(f"python -m numgrad train: error: {message}", line)


def test_the_estimate_of_time_begins_after_the_first_step(monkeypatch):
    """The first step compiles kernels, here for half a second."""
    step, slow = numgrad.optim.AdamW.step, iter([0.5])
    monkeypatch.setattr(numgrad.optim.AdamW, "step", lambda self: (time.sleep(next(slow, 0)), step(self)))
    with tqdm(total=2, file=io.StringIO()) as progress:
        _run(0, Subset(digits(), range(40)), 1, 16, 0.01, "mlp", 8, "cpu", progress)
        assert progress.n == 2
        assert progress.format_dict["elapsed"] < 0.5


def test_runs_are_drawn(run, tmp_path):
    picture = tmp_path / "runs.svg"
    options = ["--epochs", "2", "--seeds", "2", "--hidden", "16", "--plot", str(picture)]
    command = [python_with("plot"), "-m", "numgrad", "train", "digits", *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert f"drawn in {picture}" in result.stdout
    drawn = picture.read_text(encoding="utf-8")
    assert "<svg" in drawn
    assert "<!-- seed 0 -->" in drawn
    assert "<!-- seed 1 -->" in drawn


def test_the_table_of_operations(run):
    result = run("ops", "tanh", "mul", "softmax")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[:3] == [
        "tanh(input)  TanhBackward0",
        "    = tanh(input)",
        "    gradient of input: tanh_backward(grad, input, out)",
    ]
    assert "gradient of other: grad * conj(input)" in result.stdout
    assert "softmax(input, dim)  SoftmaxBackward0" in result.stdout
    assert run("ops", "linalg_solve").stdout.splitlines()[:2] == [
        "linalg_solve(A, B, left, check)  LinalgSolveExBackward0", "    on the host: lapack.linalg_solve",
    ]
    assert "on the host" not in result.stdout
    assert "Unlike PyTorch, which does not specify it" in run("ops", "topk").stdout
    everything = run("ops")
    assert everything.returncode == 0, everything.stderr
    assert everything.stdout.splitlines()[-1] == f"{len(ops)} operations, {len(composites)} made of them"
    assert len(re.findall(r"^\w+\(.*\)  \w+Backward\d\w*$", everything.stdout, re.MULTILINE)) == len(ops)
    assert run("ops", "bce").stdout.count("  BinaryCrossEntropyBackward0\n") == 2  # of each element, and reduced
    served = run("ops", "sum")
    assert served.returncode == 0, served.stderr
    first, summary, *entries = served.stdout.splitlines()
    assert first.startswith("sum(input, dim=None, keepdim=False")
    assert "sum of all elements" in summary
    assert [line for line in entries if not line.startswith(" ")] == [
        "sum_all(input, dtype=None)  SumBackward0", "sum_dims(input, dims, keepdim, dtype=None)  SumBackward1",
    ]
    unknown = run("ops", "tanhh")
    assert unknown.returncode == 1
    assert "tanhh: the table has no such operation: tanh" in unknown.stdout


@pytest.mark.parametrize(("name", "entry"), [
    ("nn.functional.conv2d", "convolution(input, weight, bias, stride, padding, dilation, groups)  Conv"),
    ("torch.nn.functional.gelu", "gelu(input)  GeluBackward0"), ("Tensor.add_", "add(input, other, alpha=1)  Add"),
    ("view", "view_as_shape(input, shape)  View"), ("linalg.solve", "linalg_solve(A, B, left, check)  LinalgSolve"),
])  # fmt: skip
def test_operations_are_found_by_the_names_that_users_write(run, name, entry):
    result = run("ops", name)
    assert result.returncode == 0
    assert result.stdout.startswith(f"{name}(")
    assert f"\n{entry}" in result.stdout


@pytest.mark.parametrize(("name", "line"), [
    ("view", "(No kernel ran: views need none"), ("fft.fft", "pocketfft.r2c, forward"),
    ("nn.functional.conv2d", "convolution, forward"), ("Tensor.add_", "add, forward"), ("numgrad.exp", "exp, forward"),
])  # fmt: skip
def test_kernels_are_found_by_the_names_that_users_write(run, name, line):
    result = run("kernels", name, "--size", "400", "--python")
    assert result.returncode == 0, result.stderr
    assert f"\n{line}" in result.stdout


def test_without_a_command_the_usage_is_printed(run):
    alone, asked = run(), run("--help")
    assert alone.returncode == asked.returncode == 0
    assert alone.stdout == asked.stdout
    assert "  cache " in alone.stdout
    assert run("--version").stdout == f"numgrad {numgrad.__version__}\n"


@pytest.mark.parametrize("arguments", [["nofile.py"], ["-m", "nofile"]])
def test_a_program_that_is_not_there_is_said_in_one_line(run, arguments):
    result = run("run", *arguments)
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert re.match("python -m numgrad run: error: .*No .*'nofile", line)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_terminals_that_cannot_show_all_characters(encoding):
    code = (
        "from numgrad.__main__ import main; main(['kernels', 'add', '--size', '9', '--python']); import numgrad as t; "
        "x = t.ones(2, requires_grad=True); print(t.viz.draw(x * x.sum()))"
    )
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert ("us:" if encoding == "ascii" else "µs:") in done.stdout.decode(encoding)
    assert b"SumBackward0 -> []" in done.stdout


def test_info_says_what_a_bug_report_needs(run):
    import llvmlite.binding
    import numba
    import threadpoolctl

    result = run("info")
    assert result.returncode == 0, result.stderr
    rows = dict(re.split(r"  +", line, maxsplit=1) for line in result.stdout.splitlines())
    assert rows["numba"] == numba.__version__
    assert rows["llvmlite"] == llvmlite.__version__
    assert rows["NumPy"] == np.__version__
    assert rows["Python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert re.search(r"\d+ files, [\d.]+ MB", rows["kernel cache"])
    assert re.match(r"NVVM \d+\.\d+, NVRTC \d+\.\d+, nvJitLink \d", rows["GPU compilers"])
    assert "GPU" in rows or rows["GPU 0"]  # a missing part, or the present ones
    others = ["numgrad", "numba-cuda", "nvmath-python", "platform", "processor", "threads", "BLAS", "environment"]
    assert rows["processor"].endswith(f"{llvmlite.binding.get_host_cpu_name()} to LLVM")
    assert re.match(r"\d+; \d+ of \d+ processors may be used", rows["threads"])
    for library in threadpoolctl.threadpool_info():
        if library["user_api"] == "blas":
            build = f"{library['version']} for {library['architecture']}"
            assert f"{build}, {library['num_threads']} threads" in rows["BLAS"]
    assert rows["LAPACK"].endswith("on the host, also those on a GPU")
    for label in [*others, "C library", "vector mathematics", "compiled for", "threading layer"]:
        assert rows[label]


def test_info_names_the_generation_of_a_processor(tmp_path):
    """A processor's name may lack it; on ARM there is nothing else, and other systems do not have it."""
    from llvmlite.binding import get_host_cpu_name

    from numgrad.commands.info import _processor

    file = tmp_path / "cpuinfo"
    file.write_text("processor : 0\nmodel name\t: AMD EPYC\ncpu family : 25\nmodel : 17\nflags : a b\n\nmodel : 18\n")
    assert _processor(file) == f"AMD EPYC, cpu family 25, model 17, {get_host_cpu_name()} to LLVM"
    file.write_text("processor : 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n")
    assert _processor(file).endswith(f", CPU implementer 0x41, CPU part 0xd0c, {get_host_cpu_name()} to LLVM")
    assert _processor(tmp_path / "none").endswith(f", {get_host_cpu_name()} to LLVM")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fly"], "invalid choice: 'fly'"),
        (["train"], "required: data"),
        (["train", "letters"], "invalid choice: 'letters'"),
        (["train", "digits", "--speed", "9"], "unrecognized arguments: --speed 9"),
        (["train", "digits", "--model", "rnn"], "invalid choice: 'rnn'"),
        (["train", "digits", "--epochs", "0"], "--epochs: expected a positive integer, got '0'"),
        (["train", "digits", "--hidden", "many"], "--hidden: expected a positive integer, got 'many'"),
        (["train", "digits", "--batch-size", "-1"], "--batch-size"),
        (["train", "digits", "--lr", "nan"], "--lr: expected a positive number, got 'nan'"),
        (["train", "digits", "--seed", "1.5"], "--seed: expected an integer, got '1.5'"),
        (["train", "digits", "--seed", str(2**64)], "--seed: expected an integer in [-2**63, 2**64)"),
        (["train", "digits", "--seeds", "0"], "--seeds: expected a positive integer, got '0'"),
        (["score", "digits"], "required: file"),
        (["info", "--all"], "unrecognized arguments: --all"),
    ],
)
def test_mistakes_are_reported_in_one_line(run, arguments, message):
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("python -m numgrad")
    assert message in line


def test_kernels_shows_what_is_asked_for(run):
    shown = run("kernels", "add", "tanhh", "--size", "400", "--python")
    assert shown.returncode == 1
    assert "def kernel(input, other, out):" in shown.stdout
    assert "  400 elements in " in shown.stdout
    assert "main loop" not in shown.stdout
    assert shown.stderr == "python -m numgrad kernels: numgrad has no operation 'tanhh': tanh, tanh_, atanh\n"
    assert "no dtype 'int3'" in run("kernels", "add", "--dtype", "int3").stderr


def test_kernels_of_gpus_are_shown_where_there_is_none():
    pytest.importorskip("numba_cuda")
    command = [sys.executable, "-m", "numgrad", "kernels", "sum", "tanh", "--cuda", "--ptx", "--size", "400"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "fold_axis, forward" in done.stdout  # by hand
    assert "tanh_backward, backward" in done.stdout  # made of the same text as the CPU's
    assert "  n: int64" in done.stdout
    assert "cuda.shared.array(THREADS, T)" in done.stdout
    assert done.stdout.count(".visible .entry kernel(") == 3
    assert "main loop" not in done.stdout


def test_kernels_lists_those_that_are_kept(run, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))
    assert run("kernels").stdout == f"{tmp_path}: 0 kernels, 0 bytes\n"
    for name in ("add_" + "0" * 24, "add_" + "1" * 24, "mul_backward_" + "a" * 24):
        (tmp_path / f"{name}.bin").write_bytes(b"12345")
    (tmp_path / f"add_{'2' * 24}.gpu").write_bytes(b"123")
    (tmp_path / "other.bin").write_bytes(b"12345")
    first, *lines = run("kernels").stdout.splitlines()
    assert first == f"{tmp_path}: 4 kernels, 18 bytes"
    assert [line.split() for line in lines] == [
        ["add", "2", "10", "bytes", "just", "now"],
        ["add", "(GPU)", "1", "3", "bytes", "just", "now"],
        ["mul_backward", "1", "5", "bytes", "just", "now"],
    ]


def test_the_cache_is_shown_and_cleared(run, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path / "none"))
    assert run("cache").stdout == f"{tmp_path / 'none'}: 0 kernels, 0 bytes\n"
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))
    for ending in ("bin", "py", "lock"):
        (tmp_path / f"add_{'0' * 24}.{ending}").write_bytes(b"12345")
    other = tmp_path / "other.bin"
    other.touch()
    assert run("cache", "--clear").stdout == f"{tmp_path}: 1 kernel, 5 bytes\ndeleted\n"
    assert [*tmp_path.iterdir()] == [other]


def test_the_digits():
    images, labels = load_digits()
    image, label = digits()[4]
    assert (image.shape, str(image.dtype), label.item()) == ((8, 8), "torch.float32", 4)
    assert image.tolist() == (images[4] / 16).tolist()
    assert len(digits()) == 1797
    assert images.shape == (1797, 8, 8)
    assert images.dtype == np.uint8
    assert labels.shape == (1797,)
    assert labels.dtype == np.uint8
    assert (images.min(), images.max()) == (0, 16)
    assert images[0, 0].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]
    assert labels[:10].tolist() == list(range(10))
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_warm_runs_a_program_with_its_arguments(run, tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text("import sys, numgrad\nprint(sys.argv[1:], numgrad.ones(2) + 1)\n")
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    done = run("warm", str(program), "--lr", "3")
    assert re.fullmatch(r"\['--lr', '3'\] tensor\(\[2., 2.\]\)\n\d+ kernels compiled, kept in .*\n", done.stdout)
    assert done.returncode == 0


@pytest.mark.parametrize("name", NETWORKS)
def test_usual_networks_take_their_steps(name):
    dtype = numgrad.get_default_dtype()
    try:
        assert _train(name, "float32", 4) >= 0
    finally:
        numgrad.set_default_dtype(dtype)


def test_warm_says_what_it_lacks(run, tmp_path, monkeypatch):
    assert "name a program, or pass --common" in run("warm").stderr
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path / "file"))
    assert run("warm", "--common").returncode == 1
