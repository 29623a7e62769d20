"""Compiled functions in inspect, draw and explain."""

import re

import pytest

import numgrad as torch
from numgrad import nn


def names(buffers):
    return [buffer.name for buffer in buffers]


@pytest.fixture
def trained():
    """A training step with the model, called until it is replayed."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile(fullgraph=True)
    def train(x, y):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(3):
        train(torch.ones(5, 4), torch.ones(5, 1))
    return train, model


@pytest.fixture
def differentiated():
    @torch.compile(fullgraph=True)
    def f(x, w):
        return (x @ w).tanh().sum(1)

    f(torch.ones(5, 4), torch.ones(4, 3, requires_grad=True)).sum().backward()
    return f


@pytest.mark.parametrize("calls", [1, 2])
def test_a_step_without_a_backward_is_shown_and_left_as_it_is(calls):
    def explained(look):
        w = torch.ones(4, 3, requires_grad=True)
        step = torch.compile(lambda x: (x @ w).tanh().sum(), fullgraph=True)
        for _ in range(calls):
            step(torch.ones(5, 4))
        if look:
            assert [one.operation for one in torch.inspect(step)[0].steps] == ["mm_op", "tanh", "sum_all"]
            assert "tanh → " in torch.viz.draw(step).text
        before = repr(torch.compiler.explain(step))
        for _ in range(4):
            w.grad = None
            step(torch.ones(5, 4)).backward()
        return before, repr(torch.compiler.explain(step)), w.grad.tolist()

    assert explained(True) == explained(False)


def test_the_steps_of_a_training_step_have_their_operations_and_lines(trained):
    step, _ = trained
    steps = torch.inspect(step)[0].steps
    by_operation = {one.operation: one for one in steps}
    assert [one.number for one in steps] == [*range(1, len(steps) + 1)]
    assert [one.operation for one in steps[:3]] == ["addmm_op", "relu", "addmm_op"]
    assert steps[1].reads == steps[0].writes
    backward = by_operation["ReluBackward0"]
    assert backward.location == steps[1].location  # both in the call of the model
    assert backward.location.code.co_name == "train"
    assert names(by_operation["sub"].reads)[1] == "y"
    sgd = steps[-1]
    assert sgd.name == "sgd"
    assert {"0.weight", "2.bias", "2.bias.grad"} <= {name.removeprefix("model.") for name in names(sgd.writes)}
    assert "optimizer.step()" in str(sgd.location)


def test_buffers_have_their_kinds_and_places(trained):
    step, _ = trained
    program = torch.inspect(step)[0]
    buffers = {buffer.name: buffer for buffer in program.buffers}
    x, loss = buffers["x"], buffers["result"]
    assert (x.kind, x.shape, x.dtype, x.bytes, x.offset) == ("argument", (5, 4), "float32", 80, None)
    assert (loss.kind, loss.shape) == ("result", ())
    assert buffers["model.0.weight"].kind == "parameter"
    temporaries = [buffer for buffer in program.buffers if buffer.kind == "temporary"]
    assert program.separate == sum(buffer.bytes for buffer in temporaries)
    assert program.arena == max(buffer.offset + buffer.bytes for buffer in temporaries) < program.separate
    for temporary in temporaries:
        for other in temporaries:
            meet = temporary.offset < other.offset + other.bytes and other.offset < temporary.offset + temporary.bytes
            assert temporary is other or not meet or temporary.last < other.first or other.last < temporary.first


def test_times_are_taken_on_copies(trained):
    step, model = trained
    before = [parameter.tolist() for parameter in model.parameters()]
    gradients = [parameter.grad.tolist() for parameter in model.parameters()]
    for program in torch.inspect(step):
        assert len(program.times) == len(program.steps)
        assert sum(program.times) > 0
    assert [parameter.tolist() for parameter in model.parameters()] == before
    assert [parameter.grad.tolist() for parameter in model.parameters()] == gradients


def test_backward_is_a_program_that_finds_what_forward_saved(differentiated):
    forward, backward = torch.inspect(differentiated)
    assert backward.title == "backward of f([5, 4] float32; [4, 3] float32, requires_grad)"
    before, after = [buffer for buffer in forward.buffers if buffer.kind == "saved"]
    (tanh,) = [step for step in forward.steps if step.name == "tanh"]
    assert before in tanh.reads
    assert after in tanh.writes
    first, second = backward.steps
    assert names(first.reads) == ["gradient[0]", before.name, after.name]
    assert (second.operation, names(second.writes)) == ("MmBackward0", ["result"])
    assert len(backward.times) == 2


def test_a_kernel_that_reports_an_error_has_no_times():
    compiled = torch.compile(nn.functional.embedding, fullgraph=True)
    indices = torch.tensor([0, 1])
    compiled(indices, torch.ones(2, 3))
    inspection = torch.inspect(compiled)
    indices[0] = 7
    assert inspection[0].times is None
    assert "no times" in inspection.text("steps")


def test_what_the_host_does_is_a_step():
    @torch.compile(fullgraph=True)
    def f(a, b):
        return torch.linalg.solve(a, b) + 1

    inspection = torch.inspect(f, torch.eye(3), torch.ones(3, 1))
    hosts = [step for step in inspection[0].steps if step.kernel is None]
    assert len(hosts) == 1
    assert len(inspection[0].times) == len(inspection[0].steps)
    assert hosts[0].name in repr(torch.compiler.explain(f))


def test_an_inspection_as_text_and_html(differentiated):
    inspection = torch.inspect(differentiated)
    text = str(inspection)
    assert "tanh_backward  TanhBackward0  test_programs.py, line" in text
    assert "define i64 @" in inspection.text("llvm") != text
    with pytest.raises(ValueError, match="no section 'python'"):
        inspection.text("python")
    html = inspection._repr_html_()
    assert html.count("<details") == 6
    assert "<td>TanhBackward0</td>" in html
    assert "There is no program" in str(torch.inspect(torch.compile(torch.sin)))


def test_the_state_of_optimizers_and_generators_has_names():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters())

    @torch.compile(fullgraph=True)
    def train(x):
        optimizer.zero_grad()
        nn.functional.dropout(model(x)).sum().backward()
        optimizer.step()

    for _ in range(4):
        train(torch.ones(2, 3))
    program = torch.inspect(train)[0]
    found = {*names(program.buffers)}
    assert {"model.weight", "exp_avg of model.weight", "exp_avg_sq of model.bias", "generator"} <= found
    assert "tensor(" not in repr(torch.compiler.explain(train))


def test_a_compiled_module_is_inspected_by_its_program():
    compiled = torch.compile(nn.Linear(2, 3))
    with torch.no_grad():
        (program,) = torch.inspect(compiled, torch.ones(1, 2))
    assert {"input", "weight", "bias", "result"} <= {*names(program.buffers)}


def test_programs_are_drawn(differentiated, tmp_path):
    drawing = torch.viz.draw(differentiated, file=tmp_path / "f.mmd")
    lines = [re.sub(r"(: |, )test_programs.py, line \d+", "", line) for line in drawing.text.splitlines()]
    assert lines == [
        "result [5] float32", "fold_rows: sum_dims", "#1 tanh → s2 [5, 3]", "#2 products → s1 [5, 3]: mm_op",
        "├─ x [5, 4] float32, argument", "└─ w [4, 3] float32, argument", "s2 [5, 3] float32, saved",
        "#1 tanh, see above", "s1 [5, 3] float32, saved", "#2 products, see above",
        "result [4, 3] float32", "products: MmBackward0", "├─ x [5, 4] float32, argument",
        "└─ tanh_backward → t1 [15]: TanhBackward0", "   ├─ gradient[0] [5] float32, argument",
        "   ├─ s1 [15] float32, saved", "   └─ s2 [15] float32, saved",
    ]
    assert drawing.summary == "compiled f: 2 programs of 5 steps"
    assert "backward of f" in (tmp_path / "f.mmd").read_text()
    assert "1 more step" in torch.viz.draw(differentiated, max_nodes=1).text
    with pytest.raises(ValueError, match="compiled sin has no program yet"):
        torch.viz.draw(torch.compile(torch.sin))


def test_explain_says_what_a_program_depends_on_and_why_it_was_recorded_anew():
    scale = {"by": torch.ones(3)}

    @torch.compile(fullgraph=True)
    def scaled(x, power):
        return x * scale["by"] ** power

    scaled(torch.ones(3), 2)
    scale["by"] = torch.ones(3)
    scaled(torch.ones(3), 2)
    (signature,) = torch.compiler.explain(scaled)
    assert signature.call == "([3] float32; 2)"
    assert [program.launches for program in signature.programs] == [2, 2]
    assert "scale.by" in signature.programs[0].conditions
    assert signature.failed == [["scale.by"]]
    text = repr(torch.compiler.explain(scaled))
    assert text.startswith("compiled scaled: 1 signature, 2 programs\nscaled([3] float32; 2)\n  program: 2 launches\n")
    assert "recorded again because of a change: scale.by" in text


def test_explain_says_why_and_where_a_function_runs_as_it_is():
    @torch.compile
    def signed(x):
        return x if x.sum() > 0 else -x

    assert repr(torch.compiler.explain(signed)) == "compiled signed: not called yet"
    with pytest.warns(UserWarning, match="cannot be compiled"):
        signed(torch.ones(3))
    (signature,) = torch.compiler.explain(signed)
    assert "needs values" in signature.eager
    assert "x.sum() > 0" in repr(torch.compiler.explain(signed))
    assert "x.sum() &gt; 0" in torch.compiler.explain(signed)._repr_html_()
    with pytest.raises(TypeError, match=r"takes a function or module that torch\.compile returned, not"):
        torch.compiler.explain(torch.sin)
