"""More pieces of state: what calls write, flags, arguments besides the tensor, and facts about tensors.

See ``states`` for the lines.
"""

from __future__ import annotations

from fuzz.states import CLASS, FULL, State

__all__ = ["STATES_OF_CALLS"]

_TENSOR_FACTS = ("t#.grad is None", "isinstance(t#, nn.Parameter)", "t#.is_leaf", "hasattr(t#, 'v')", "t#.dim() == 2",
                 "t#.grad_fn is None", "t#._base is None", "t#.is_contiguous()", "t#.dtype is torch.float64")

#: State that the function itself changes.
_WRITTEN = (
    State("global that is written", "n# = 1", ("!global n#; n# += 1", "!global n#; n# += 1; h = h * n#"),
          ("n# = ?",), after="n#"),
    State("cell that is written", "def made#():\n    n = 1\n    def g():\n        nonlocal n\n        n += 1\n"
          "        return n\n    return g, lambda: n\ng#, n# = made#()", ("g#()", "!g#()", "n#()"), ("g#()",
          "g#, n# = made#()"), after="n#()"),
    State("kept tensor", f"class C#: pass\ns# = C#()\ns#.h = {FULL}", ("!s#.h = h.detach() * 2", "!h = h + s#.h; s#.h "
          "= h.detach()", "!s#.h = x", "!h = h * s#.h; s#.h.mul_(2)", "!s#.h.copy_(h.detach())",
          "!s#.old, s#.h = s#.h, h.detach() + 1", "!del s#.h", "!s#.h = s#.h[:]"), (f"s#.h = {FULL}",
          "s#.h = s#.h * 2",
          "s#.h.fill_(?)"), after="getattr(s#, 'h', None)"),
    State("kept in a container", f"s# = [{FULL}]\nd# = {{}}", ("!s#.append(h.detach())", "!s#[0] = h.detach()",
          "!d#['h'] = h.detach()", "!d#.setdefault('h', h.detach())", "!s#.append(len(s#))", "!h = h + s#.pop()",
          "!h = h + d#.setdefault('h', torch.ones(4)); d#['h'].add_(1)", "!s#[0].add_(h.detach())"), ("s#.clear()",
          f"s#.append({FULL})", "d#.clear()", f"d#['h'] = {FULL}"), after="[s#, d#]"),
    State("averages", "class M#(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.n = 0\n"
          "        self.register_buffer('mean', torch.zeros(4))\n    def forward(self, x):\n        self.n += 1\n"
          "        with torch.no_grad():\n            self.mean.lerp_(x.detach(), 0.25)\n"
          "        return x - self.mean\ns# = M#()", ("s#(x)", "s#(h)"), ("s#.mean = torch.zeros(4)",
          "s#.mean.fill_(?)",
          "s#.eval()", "s#.n = 5", "s# = M#()", "s#.mean = s#.mean.clone()"), is_tensor=True, after="[s#.n, s#.mean]"),
    State("normalization", "s# = nn.BatchNorm1d(4)\nd# = nn.Dropout(0.5)", ("s#(h.expand(3, 4))[0]", "d#(h)",
          "s#(torch.stack([x, h, h * 2]))[1]"), ("s#.eval()", "s#.train()", "s#.momentum = 0.5", "s#.momentum = None",
          "s#.reset_running_stats()", "s#.running_mean.fill_(?)", "d#.p = 0.25", "d#.eval()", "d#.train()",
          "s#.running_var = torch.ones(4)", "s#.eps = 0.5"), is_tensor=True,
          after="[s#.running_mean, s#.running_var, s#.num_batches_tracked]"),
    State("generator function", "k# = ?\ndef g#(n):\n    for i in range(n): yield i * k#", ("sum(g#(3))",
          "max([*g#(4)])", "next(g#(2))", "sum(v for v in g#(3) if v != k#)"), ("k# = ?", "g# = lambda n: [?] * n")),
    State("context manager", "k# = ?\n@contextlib.contextmanager\ndef c#():\n    global k#\n    before, k# = k#, ?\n"
          "    try: yield k#\n    finally: k# = before", ("!with c#() as k: h = h * k", "!with c#(): h = h * k#"),
          ("k# = ?",), after="k#"),
    State("errors", "d# = {}\nclass C#: pass\ns# = C#()", ("!try: h = h * d#['a']\nexcept KeyError: h = h + 1",
          "!try: h = h * s#.w\nexcept AttributeError: h = h - 1", "!assert not d#, 'filled'",
          "!with contextlib.suppress(AttributeError): h = h * s#.w"), ("d#['a'] = ?", "d#.clear()", "s#.w = ?",
          "del s#.w")),
    State("match", "@dataclasses.dataclass\nclass P#:\n    w: float\n    v: int = 2\ns# = P#(?)", (
          "!match s#:\n    case P#(w=2.0): h = h * 3\n    case P#(w, 2): h = h * w\n    case _: h = h + 1",
          "!match s#.w:\n    case 1.0 | 2.0: h = h * 3\n    case w: h = h * w"), ("s#.w = ?", "s#.v = 3",
          "s# = P#(?)", "s# = [?]", "P#.__match_args__ = ('v', 'w')")),
)

#: Flags of numgrad, and packages that are not its own.
_FLAGS = (
    State("autocast", "e# = False", ("!with torch.autocast('cpu', torch.bfloat16, enabled=e#):"
          " h = (h.expand(4, 4) @ h.expand(4, 4))[0].float()", "!h = h * (1 + torch.is_autocast_enabled('cpu'))"),
          ("e# = True", "e# = False", "torch.set_autocast_enabled('cpu', True)",
          "torch.set_autocast_enabled('cpu', False)"), restore="torch.set_autocast_enabled('cpu', False)"),
    State("flags", "", ("torch.are_deterministic_algorithms_enabled() + 1", "torch.is_inference_mode_enabled() + 1",
          "torch.get_num_threads()", "torch.backends.cudnn.benchmark + 1", "torch.is_anomaly_enabled() + 1",
          "(torch.get_default_dtype() is torch.float32) + 1"), ("torch.use_deterministic_algorithms(True)",
          "torch.use_deterministic_algorithms(False)", "torch.backends.cudnn.benchmark = True",
          "torch.backends.cudnn.benchmark = False", "torch.set_default_dtype(torch.float64)",
          "torch.set_default_dtype(torch.float32)"), restore="torch.use_deterministic_algorithms(False); "
          "torch.backends.cudnn.benchmark = False; torch.set_default_dtype(torch.float32)"),
    State("progress", "import tqdm\ns# = tqdm.tqdm(total=9, disable=True)\nu# = tqdm.tqdm(total=9, "
          "file=open(os.devnull, "
          "'w'))", ("s#.n + 1", "u#.n + 1", "u#.total"), ("u#.update(2)", "s#.update(1)", "u#.total = 5", "u#.reset()"),
          restore="u#.close()"),
    State("polynomials", "s# = np.poly1d([?, ?])\nt# = np.polynomial.Polynomial([?, ?])", ("float(s#(2.0))",
          "float(t#(2.0))", "float(s#[0])"), ("s#[0] = ?", "t#.coef[0] = ?", "s# = np.poly1d([?])",
          "s#.coeffs[0] = ?")),
)

_GIVEN = (
    State("number", "", ("a#", "a# * 2", "!h = h * 2 if a# > 2 else h + a#", "!h = torch.where(h > a#, h, a#)",
          "!h = h.clamp(max=a#)", "!h = h + torch.full((4,), a#)"), ("pass",), given=("1.5", "2.5", "3.5", "4.25",
          "5.5",
          "7", "8", "9")),
    State("container", f"t# = {FULL}", ("a#['w']", "!h = h + a#['t']", "!a#['n'] = a#['w']", "!a#['t'].mul_(2)",
          "len(a#)"), ("t#.fill_(?)", f"t# = {FULL}"), given=("{'w': ?, 't': t#}", "{'t': ramp(4), 'w': ?}",
          "{'w': 2.0, 't': t#, 'n': 1}")),
    State("dataclass argument", f"t# = {FULL}\n@dataclasses.dataclass\nclass B#:\n    t: torch.Tensor\n    w: float "
          f"= ?\n"
          "    def scaled(self): return self.t * self.w", ("!h = h + a#.scaled()", "a#.w", "!a#.w = 3.0",
          "!a#.t = h.detach()"), ("B#.scaled = lambda self: self.t * ?", "t#.fill_(?)", "B#.w = ?"),
          given=("B#(t#)", "B#(t#, ?)", "B#(ramp(4), 2.0)")),
    State("two tensors", f"t# = torch.arange(8.0)\nu# = {FULL}", ("!h = h * a#", "!a#.add_(1); h = h * 2",
          "!a#.add_(x.detach())", "!x.detach().add_(a#)", "(a# is x) + 1", "!h = h + a#.sum(); h = h + u#",
          "!u#.add_(a#.detach()); h = h + u#"), ("t#.mul_(0.5)", f"u# = {FULL}", "u# = t#[:4]"), given=("t#[:4]",
          "t#[1:5]",
          "t#[::2]", "u#", "u#[:]", "ramp(4)", "u#.view(4)"), arguments=("t#[2:6]", "t#[:4]", "u#")),
    State("object argument", CLASS + "\nl# = [abs, lambda v: v * 2]", ("!h = h * a#(2.0)",), ("s#.w = ?", "C#.w = ?",
          "C#.__call__ = lambda self, v: v * ?"), given=("abs", "l#[1]", "(lambda v: v * s#.w)", "operator.neg",
          "functools.partial(pow, 2.0)")),
    State("class or slice argument", "", ("!h = h[a#].sum() + h", "!h = h * h[a#].numel()"), ("pass",),
          given=("slice(1, 3)", "slice(None, None, 2)", "slice(0, 2)", "...", "2", "[0, 1]")),
    State("named argument", "N# = collections.namedtuple('N#', 'w t')", ("a#.w", "!h = h + a#.t", "len(a#)"),
          ("N#.w = property(lambda self: ?)",), given=("N#(?, ramp(4))", "N#(2.0, ramp(4))")),
)

#: Tensors of which the function reads anything but their elements.
_FACTS = tuple([
    State(f"{fact} of a tensor", f"t# = {FULL}", (f"(1 + ({fact}))",), (f"t# = {FULL}", f"t# = nn.Parameter({FULL})",
          f"t# = nn.Parameter({FULL}, requires_grad=False)", f"t# = {FULL}; t#.grad = torch.ones(4)",
          f"t# = {FULL}.requires_grad_() * 2", "t# = torch.ones(8)[:4]", "t# = torch.ones(2, 2)", "t# = t#.double()",
          f"t# = {FULL}; t#.v = ?", "t# = torch.ones(8)[::2]", "t#.v = ?", "t#.grad = torch.ones(4)",
          "t#.grad = None"))
    for fact in _TENSOR_FACTS
])

STATES_OF_CALLS: tuple[State, ...] = (*_WRITTEN, *_FLAGS, *_GIVEN, *_FACTS)
