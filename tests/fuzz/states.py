"""Pieces of state: their creation, the expressions that read them, and their changes between calls.

In the lines, ``#`` is the number of the piece, and each ``?`` is a value of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CLASS", "FULL", "STATES", "State"]

@dataclass(frozen=True)
class State:
    """A kind of state.

    A read that begins with ``!`` is a statement of the function's.  The function has one more parameter, ``a#``, for a
    kind that is ``given``: arguments for it.
    """

    name: str
    setup: str
    reads: tuple[str, ...]
    changes: tuple[str, ...]
    is_tensor: bool = False
    after: str = ""
    restore: str = ""
    arguments: tuple[str, ...] = ()
    given: tuple[str, ...] = ()


def _tensor(name: str, setup: str, reads: tuple[str, ...], changes: tuple[str, ...], **rest: str) -> State:
    return State(name, setup, reads, changes, is_tensor=True, **rest)


CLASS = "class C#:\n    w = ?\n    def read(self): return self.w\ns# = C#()"
FULL = "torch.full((4,), float(?))"

_OBJECTS = (
    State("variable", "s# = ?", ("s#",), ("s# = ?", "s# = ?", "del s#")),
    State("cell", "def made#(value):\n    def put(new):\n        nonlocal value\n        value = new\n"
          "    return (lambda: value), put\nget#, put# = made#(?)", ("get#()",), ("put#(?)", "get#, put# = made#(?)")),
    State("object", CLASS, ("s#.w", "s#.read()", "getattr(s#, 'w')", "vars(C#)['w']", "getattr(s#, 'v', 1.5)",
          "(lambda g: g(s#, 'w' + ''))(getattr)", "float('{0.w}'.format(s#))", "operator.attrgetter('w')(s#)",
          "s#.__dict__.get('w', 0.5)", "float(f'{s#.w}')", "len(vars(s#))", "hasattr(s#, 'v') + 1"),
          ("s#.w = ?", "s#.w = ?", "C#.w = ?", "del s#.w", "s# = C#()", "s#.__dict__['w'] = ?", "s#.__dict__.clear()",
           "s#.v = ?", "del s#.v", "C#.v = ?", "C#.read = lambda self: self.w * ?", "s#.read = lambda: ?",
           "s#.__dict__ = {'w': ?}", "s#.__class__ = type('D', (C#,), {'w': ?, 'read': lambda self: ?})")),
    State("slots", "class C#:\n    __slots__ = ('w', 'v')\ns# = C#()\ns#.w = ?", ("s#.w", "getattr(s#, 'v', 1.5)"),
          ("s#.w = ?", "del s#.w", "s#.v = ?", "s# = C#()")),
    State("property", "class C#:\n    def __init__(self): self._w = ?\n    @property\n    def w(self): return "
          "self._w * 2"
          "\n    @functools.cached_property\n    def v(self): return self._w + 1\ns# = C#()", ("s#.w", "s#.v"),
          ("s#._w = ?", "C#.w = property(lambda self: ?)", "s# = C#()", "s#.v = ?", "del s#.v")),
    State("getattr", "class C#:\n    def __init__(self): self.held = {'w': ?}\n    def __getattr__(self, name):\n"
          "        return self.held[name]\ns# = C#()", ("s#.w",), ("s#.held['w'] = ?", "s#.w = ?", "s#.held = {'w': ?}",
          "C#.__getattr__ = lambda self, name: ?")),
    State("descriptor", "class D#:\n    def __get__(self, one, owner): return one.held * 2\n    def __set__(self, one, "
          "value): one.held = value\nclass C#:\n    w = D#()\ns# = C#()\ns#.w = ?", ("s#.w",), ("s#.w = ?",
          "s#.held = ?", "D#.__get__ = lambda self, one, owner: ?", "C#.w = ?")),
    State("methods", "class C#:\n    k = ?\n    def __call__(self): return self.k\n    def __len__(self): return 3\n"
          "    @staticmethod\n    def a(): return ?\n    @classmethod\n    def b(cls): return cls.k\n"
          "class D#(C#): pass\n"
          "s# = D#()", ("s#()", "s#.a()", "s#.b()", "len(s#)", "D#.b()", "super(D#, s#).__call__()"),
          ("C#.k = ?", "D#.k = ?", "s#.k = ?", "C#.__call__ = lambda self: ?", "D#.__call__ = lambda self: ?",
           "C#.a = staticmethod(lambda: ?)", "D#.a = staticmethod(lambda: ?)", "C#.__len__ = lambda self: 5",
          "del D#.k",
           "C#.b = classmethod(lambda cls: ?)")),
    State("dataclass", "@dataclasses.dataclass\nclass C#:\n    w: float = ?\n    v: list = "
          "dataclasses.field(default_factory"
          "=lambda: [?])\ns# = C#()", ("s#.w", "s#.v[0]", "dataclasses.asdict(s#)['w']",
          "dataclasses.astuple(s#)[1][0]",
          "(s# == C#()) + 1", "dataclasses.replace(s#, w=2.0).v[0]"), ("s#.w = ?", "s#.v[0] = ?", "s#.v = [?]",
          "s# = C#(w=?)", "s# = dataclasses.replace(s#, w=?)", "C#.w = ?")),
    State("frozen", "@dataclasses.dataclass(frozen=True)\nclass C#:\n    w: float = ?\ns# = C#()", ("s#.w",
          "hash(s#) % 3"),
          ("s# = C#(?)", "object.__setattr__(s#, 'w', ?)", "s# = dataclasses.replace(s#, w=?)")),
    State("enumeration", "class E#(enum.Enum):\n    A = 1.0\n    B = 2.0\nE#.A.extra = ?\ns# = E#.A", ("s#.value",
          "(s# is E#.A) + 1", "len(s#.name) + 1", "E#.A.extra"), ("s# = E#.A", "s# = E#.B", "s# = E#(1.0)",
          "E#.A.extra = ?")),
    State("named tuple", "N# = collections.namedtuple('N#', 'w v')\ns# = N#(?, [?])", ("s#.w", "s#[0]", "s#.v[0]"),
          ("s# = s#._replace(w=?)", "s#.v[0] = ?", "s# = N#(?, s#.v)")),
    State("namespace", "s# = types.SimpleNamespace(w=?)", ("s#.w", "vars(s#)['w']", "getattr(s#, 'v', 1.5)"),
          ("s#.w = ?", "del s#.w", "s#.v = ?", "s# = types.SimpleNamespace(w=?)")),
    State("module object", "s# = types.ModuleType('m#')\ns#.w = ?", ("s#.w", "getattr(s#, 'v', 1.5)"),
          ("s#.w = ?", "s#.v = ?", "del s#.w")),
    State("described", "e# = []\nclass C#: 'a'\nclass D#(C#): b: int\ndef g#(): 'abc'", ("len(g#.__name__)",
          "len(g#.__doc__)",
          "len(g#.__qualname__)", "len(type(D#()).__name__)", "len(C#.__doc__)", "len(C#.__subclasses__())",
          "len(D#.__annotations__)"), ("g#.__name__ = 'ab'", "g#.__doc__ = 'd'", "g#.__qualname__ = 'e'",
          "D#.__name__ = 'other'", "C#.__doc__ = 'abcd'", "e#.append(type('E#', (C#,), {}))",
          "D#.__annotations__['c'] = int")),
    State("bases", "class A#:\n    w = ?\n    def g(self): return ?\nclass B#:\n    w = ?\n    def g(self): return ?\n"
          "class C#(A#):\n    def g(self): return super().g() * 2\ns# = C#()", ("s#.w", "s#.g()", "C#.w"),
          ("C#.__bases__ = (B#,)", "C#.__bases__ = (A#,)", "C#.__bases__ = (A#, B#)", "B#.w = ?")),
    State("abstract", "class A#(abc.ABC): pass\nclass B#: pass\ns# = B#()", ("isinstance(s#, A#) + 1",
          "issubclass(B#, A#) + 1", "isinstance(s#, collections.abc.Sized) + 1"), ("A#.register(B#)",
          "collections.abc.Sized.register(B#)", "s# = B#()")),
    State("own access", "class C#:\n    w = ?\n    def __getattribute__(self, name):\n        if name[0] == '_': raise "
          "TypeError\n        return object.__getattribute__(self, name)\ns# = C#()", ("s#.w",), ("s#.w = ?",
          "C#.w = ?")),
    State("weak reference", CLASS + "\nr# = weakref.ref(s#)", ("r#().w",), ("s#.w = ?",
          "s# = C#()\n    gc.collect()")),
    State("linked", "class C#:\n    def __init__(self, w, next): self.w, self.next = w, next\ns# = C#(?, C#(?, None))",
          ("s#.next.w", "(1.0 if s#.next is None else s#.next.w)"), ("s#.next.w = ?", "s#.next = None",
          "s#.next = C#(?, s#)", "s# = s#.next")),
    State("counter", "class C#:\n    n = 1\ns# = C#()", ("!s#.n += 1", "!s#.n = s#.n + 1; h = h * s#.n",
          "!C#.n = 2; h = h * s#.n"), ("s#.n = 5", "del s#.n", "C#.n = 7"), after="s#.n"),
)

_CONTAINERS = (
    State("dictionary", "s# = {'a': {'b': [?, ?]}, 'w': ?}", ("s#['w']", "s#['a']['b'][0]", "len(s#)",
          "sum(s#['a']['b'])",
          "s#.get('v', 1.5)", "('v' in s#) + 1", "[*s#.values()][-1]", "len([*s#][0])", "{**s#}['w']"), ("s#['w'] = ?",
          "del s#['w']", "s#['v'] = ?", "s#['a']['b'][0] = ?", "s#['a'] = {'b': [?]}", "s#.pop('v')", "s#.update(w=?)",
          "s#['a']['b'].append(?)", "s# = {'w': ?, 'a': {'b': [?]}}", "s#.setdefault('v', ?)",
          "s#['w'] = s#.pop('w')")),
    State("list", "s# = [?, ?, ?]", ("s#[0]", "s#[-1]", "len(s#)", "sum(s#)", "sum(v * 2 for v in s#)", "max(s#)",
          "s#.index(s#[-1]) + 1", "(2.0 in s#) + 1", "sorted(s#)[0]", "s#[1:][0]"), ("s#[0] = ?", "s#.append(?)",
          "s#.pop()", "s#.reverse()", "s#.sort()", "s#[:] = [?, ?]", "s# = [?, ?]", "s#.insert(0, ?)", "del s#[0]",
          "s# += [?]")),
    State("tuple", "s# = (?, [?])", ("s#[0]", "s#[1][0]", "len(s#)"), ("s# = (?, s#[1])", "s#[1][0] = ?",
          "s# += (?,)")),
    State("set", "s# = {1.0, 2.0}", ("len(s#)", "(3.0 in s#) + 1", "sum(sorted(s#))", "len(s# | {3.0})"),
          ("s#.add(?)", "s#.discard(?)", "s#.clear()", "s# = {?}", "s# |= {?, ?}")),
    State("deque", "s# = collections.deque([?, ?, ?], maxlen=4)", ("s#[0]", "len(s#)", "sum(s#)", "s#[-1]",
          "s#.maxlen"),
          ("s#.append(?)", "s#.appendleft(?)", "s#.rotate(1)", "s#.popleft()", "s# = collections.deque([?])",
          "s#[0] = ?")),
    State("hidden", "class L#(list): w = ?\nclass D#(dict): w = ?\nclass A#(np.ndarray): w = ?\ns# = L#([?])\nd# = "
          "D#(a=?)\na# = np.ones(2).view(A#)", ("s#.w", "d#.w", "a#.w"), ("s#.w = ?", "del s#.w", "d#.w = ?",
          "L#.w = ?", "a#.w = ?", "vars(a#).clear()")),
    State("list with attribute", "class L#(list): pass\ns# = L#([?, ?])\ns#.w = ?", ("s#.w", "s#[0]", "len(s#)"),
          ("s#.w = ?", "s#[0] = ?", "s#.append(?)", "L#.w = ?", "del s#.w", "L#.__getitem__ = lambda self, i: ?")),
    State("dictionary with attribute", "class L#(dict): pass\ns# = L#(a=?)\ns#.w = ?", ("s#.w", "s#['a']", "len(s#)"),
          ("s#.w = ?", "s#['a'] = ?", "s#['b'] = ?", "L#.w = ?", "L#.__missing__ = lambda self, key: ?",
          "del s#['a']")),
    State("deque with attribute", "class L#(collections.deque): pass\ns# = L#([?])\ns#.w = ?", ("s#.w", "s#[0]"),
          ("s#.w = ?", "s#[0] = ?", "s#.appendleft(?)")),
    State("number with attribute", "class L#(float): pass\ns# = L#(?)\ns#.w = ?", ("s#.w", "s# * 2"), ("s#.w = ?",
          "s# = L#(?)", "L#.w = ?", "L#.__mul__ = lambda self, other: ?")),
    State("default dictionary", "s# = collections.defaultdict(lambda: ?)\ns#['a'] = ?", ("s#['a']", "s#['b']",
          "len(s#)"),
          ("s#['b'] = ?", "s#.default_factory = lambda: ?", "s#.clear()"), after="len(s#)"),
    State("counts", "s# = collections.Counter('aab')", ("s#['a']", "s#['c'] + 1", "s#.total()",
          "s#.most_common(1)[0][1]"),
          ("s#.update('c')", "s#['a'] = 5", "s#.subtract('a')", "del s#['a']")),
    State("ordered dictionary", "s# = collections.OrderedDict(a=?, b=?)", ("[*s#.values()][0]", "s#['b']"),
          ("s#.move_to_end('a')", "s#['a'] = ?", "s#.popitem()")),
    State("chain map", "s# = collections.ChainMap({}, {'a': ?})", ("s#['a']",), ("s#['a'] = ?", "s#.maps[1]['a'] = ?",
          "s#.maps.reverse()", "s# = s#.new_child({'a': ?})")),
    State("user containers", "s# = collections.UserList([?])\nd# = collections.UserDict(a=?)", ("s#[0]", "d#['a']",
          "len(s#)"),
          ("s#[0] = ?", "s#.append(?)", "d#['a'] = ?", "d#.data = {'a': ?}", "s#.data.insert(0, ?)")),
    State("proxy", "d# = {'a': ?}\ns# = types.MappingProxyType(d#)", ("s#['a']", "len(s#)"), ("d#['a'] = ?",
          "d#['b'] = ?")),
    State("view of a dictionary", "d# = {'a': ?}\ns# = d#.values()", ("sum(s#)", "len(s#)"), ("d#['a'] = ?",
          "d#['b'] = ?")),
    State("array of bytes", "s# = bytearray(b'ab')\na# = array.array('d', [?])\nm# = memoryview(s#)", ("s#[0]",
          "a#[0]", "m#[0]"),
          ("s#[0] = 5", "a#[0] = ?", "s# = bytearray(b'cd')")),
    State("NumPy array", "s# = np.array([?, ?, ?])\ns# = s# * 1.0\nv# = s#[1:]", ("float(s#[1])", "float(v#.sum())",
          "len(s#)",
          "s#.item(0)", "float(np.sum(s#))", "s#.shape[0]", "float(s#.flat[2])", "float(v#.base[0])", "s#.strides[0]"),
          ("s#[1] = ?", "s#.fill(?)",
          "s# = np.array([?, ?])",
          "v# *= 2", "np.negative(s#, out=s#)", "s#.sort()", "s#.resize(2, refcheck=False)")),
    State("NumPy record", "s# = np.array([(1.0, 2)], dtype=[('a', 'f8'), ('b', 'i4')])", ("float(s#['a'][0])",
          "int(s#[0]['b'])"),
          ("s#['a'][0] = ?", "s#[0] = (?, 3)")),
)

_FUNCTIONS = (
    State("partial", "s# = functools.partial(lambda a, b: a * b, b=?)", ("s#(2.0)",), ("s#.keywords['b'] = ?",
          "s# = functools.partial(lambda a, b: a + b, b=?)", "s#.__setstate__((s#.func, (), {'b': ?}, {}))")),
    State("dispatch", "class C#:\n    w = ?\n    @functools.singledispatchmethod\n    def g(self, a): return self.w\n"
          "s# = C#()\n@functools.singledispatch\ndef g#(a): return ?", ("s#.g(1.0)", "g#(1.0)"), ("C#.w = ?",
          "s#.w = ?",
          "vars(C#)['g'].register(float, lambda self, a: ?)",
          "g#.register(float, lambda a: ?)")),
    State("function", "def g#(a=?, *, b=?): return a + b\ng#.w = ?", ("g#()", "g#.w", "g#(b=1.0)",
          "(lambda g: g())(g#)"),
          ("g#.__defaults__ = (?,)", "g#.__kwdefaults__ = {'b': ?}", "g#.__kwdefaults__['b'] = ?", "g#.w = ?",
           "g#.__code__ = (lambda a=1.0, *, b=2.0: a * b).__code__", "g# = lambda a=?, b=?: a - b", "del g#.w")),
    State("wrapped", "def g#(a): return a * k#\nk# = ?\ndef around#(function):\n    @functools.wraps(function)\n"
          "    def inner(*args): return function(*args) + inner.w\n    inner.w = ?\n    return inner\ns# = around#(g#)",
          ("s#(2.0)", "s#.__wrapped__(1.0)"), ("s#.w = ?", "k# = ?", "s# = around#(lambda a: ?)", "g# = lambda a: ?")),
    State("cached", "k# = ?\n@functools.lru_cache\ndef g#(a): return a * k#", ("g#(1.0)",), ("k# = ?",
          "g#.cache_clear()",
          "g#.cache_clear(); k# = ?", "g#(1.0)")),
    State("table of functions", "s# = {'f': lambda a: a * ?, 'g': math.sqrt}\nw# = 'f'",
          ("s#[w#](4.0)",), ("s#['f'] = lambda a: ?",
          "w# = 'g'", "w# = 'f'", "s#['g'] = abs")),
    State("bound method", CLASS + "\nm# = s#.read", ("m#()",), ("s#.w = ?", "m# = C#().read", "C#.w = ?",
          "C#.read = lambda self: ?")),
    State("vectorized", "k# = ?\ns# = np.vectorize(lambda a: a * k#)", ("float(s#(2.0))",), ("k# = ?",
          "s# = np.vectorize(abs)")),
    State("replaced function", "relu# = F.relu\nown# = lambda x: x * ?", ("F.relu(h)", "nn.functional.relu(h)",
          "torch.nn.functional.relu(x)", "nn.ReLU()(h)"), ("F.relu = F.tanh", "F.relu = relu#", "F.relu = own#",
          "own# = lambda x: x * ?"), is_tensor=True, restore="F.relu = relu#"),
    State("replaced method", "relu# = torch.Tensor.relu\ntanh# = torch.tanh\nforward# = nn.ReLU.forward\n"
          "m# = nn.ReLU()",
          ("h.relu()", "torch.tanh(h)", "m#(h)"), ("torch.Tensor.relu = torch.Tensor.tanh",
          "torch.Tensor.relu = relu#", "torch.tanh = lambda x: x * ?", "torch.tanh = tanh#",
          "m#.forward = lambda x: x * ?",
          "nn.ReLU.forward = lambda self, x: x * ?", "nn.ReLU.forward = forward#"), is_tensor=True,
          restore="torch.Tensor.relu, torch.tanh, nn.ReLU.forward = relu#, tanh#, forward#"),
)

_LIBRARIES = (
    State("random numbers", "s# = random.Random(#)\ng# = np.random.default_rng(#)\nd# = s#.random", ("s#.random()",
          "d#()",
          "random.random()", "float(g#.random())", "s#.choice([1.0, 2.0])"), ("s#.seed(1)", "s#.random()",
          "random.seed(1)",
          "s# = random.Random(2)")),
    State("built in", "import builtins\ndivmod# = divmod", ("divmod(5, 2)[0]",), ("builtins.divmod = lambda *a: [?]",
          "builtins.divmod = divmod#"), restore="builtins.divmod = divmod#"),
    State("interpreter", "", ("sys.getrecursionlimit()", "gc.isenabled() + 1", "np.geterr()['under'] != 'raise'",
          "np.get_printoptions()['precision']", "threading.active_count()", "torch.initial_seed() % 7"),
          ("sys.setrecursionlimit(1500)", "gc.disable()", "gc.enable()", "np.seterr(under='raise')",
          "np.set_printoptions(precision=3)", "torch.manual_seed(5)"),
          restore="sys.setrecursionlimit(1000); gc.enable(); np.seterr(under='ignore'); "
          "np.set_printoptions(precision=8)"),
    State("decimal context", "s# = decimal.Decimal(1)", ("float(s# / 3)", "float(decimal.Decimal(2) / 7)"),
          ("decimal.getcontext().prec = 3", "decimal.getcontext().prec = 28",
          "decimal.getcontext().rounding = 'ROUND_UP'"),
          restore="decimal.setcontext(decimal.Context())"),
    State("event", "s# = threading.Event()\nt# = threading.local()\nt#.w = ?\nl# = threading.Lock()",
          ("s#.is_set() + 1", "t#.w",
          "l#.locked() + 1"), ("s#.set()", "s#.clear()", "t#.w = ?", "l#.acquire(blocking=False)")),
    State("logger", "s# = logging.getLogger('fuzz#')", ("s#.level + 1", "s#.isEnabledFor(20) + 1",
          "s#.getEffectiveLevel() + 1"), ("s#.setLevel(10)", "s#.setLevel(40)", "s#.disabled = not s#.disabled",
          "s#.setLevel(0)",
          "logging.disable(50)", "logging.root.setLevel(40)", "logging.disable(0)"),
          restore="s#.setLevel(0); s#.disabled = False; logging.root.setLevel(30); logging.disable(0)"),
    State("handlers of a logger", "s# = logging.getLogger('handled#')", ("len(s#.handlers) + 1",),
          ("s#.addHandler(logging.NullHandler())", "s#.handlers.clear()"), restore="s#.handlers.clear()"),
    State("environment", "os.environ['FUZZ#'] = '1.0'", ("float(os.environ.get('FUZZ#', '1.5'))",
          "float(os.getenv('FUZZ#', '3'))",
          "('FUZZ#' in os.environ) + 1"), ("os.environ['FUZZ#'] = '?'", "os.environ.pop('FUZZ#')"),
          restore="os.environ.pop('FUZZ#', None)"),
    State("iterator", "s# = itertools.count(1)\ni# = iter([?] * 40)\ndef made#():\n    while True: yield ?\n"
          "g# = made#()",
          ("next(s#)", "next(i#)", "next(g#)"), ("next(s#)", "s# = itertools.count(5)", "i# = iter([?] * 40)",
          "g# = made#()")),
    State("context", "s# = contextvars.ContextVar('v#', default=?)\nq# = queue.Queue()\n[q#.put(n) for n in range(99)]",
          ("s#.get()", "q#.get()", "q#.qsize()"), ("s#.set(?)", "q#.put(1)")),
    State("exact numbers", "s# = decimal.Decimal(3)\nf# = fractions.Fraction(1, 3)\n"
          "d# = datetime.timedelta(seconds=3)\nk# = 2",
          ("float(s# / 7)", "float(f# + k#)", "d#.seconds", "float(decimal.Decimal(k#))", "math.ldexp(1.0, int(k#))"),
          ("s# = decimal.Decimal(5)", "f# = fractions.Fraction(2, 3)", "d# = datetime.timedelta(seconds=7)", "k# = 4",
          "k# = ?")),
    State("default type", "", ("!h = h * torch.ones(4)", "!h = h * (1.0 if torch.is_grad_enabled() else 2.0)"),
          ("torch.set_default_dtype(torch.float64)", "torch.set_default_dtype(torch.float32)",
          "torch.set_grad_enabled(False)",
           "torch.set_grad_enabled(True)"),
          restore="torch.set_default_dtype(torch.float32); torch.set_grad_enabled(True)"),
    State("own random numbers", "s# = torch.Generator().manual_seed(1)", ("torch.rand(4)",
          "torch.rand(4, generator=s#)"),
          ("torch.manual_seed(3)", "s#.manual_seed(4)", "torch.rand(2)",
          "s# = torch.Generator().manual_seed(2)"), is_tensor=True,
          after="torch.rand(2)"),
)

_MODULE = ("class M#(nn.Module):\n    k = ?\n    def __init__(self):\n        super().__init__()\n"
           f"        self.w = nn.Parameter({FULL})\n        self.register_buffer('b', {FULL})\n        self.c = ?\n"
           "    def forward(self, x): return x * self.w + self.b if self.training else x * self.c - self.k\n"
           "s# = M#()\n")

_TENSORS = (
    _tensor("module", _MODULE, ("s#(x)", "s#(h)", "s#.w", "s#.b", "sum(p.sum() for p in s#.parameters())"), (
        "s#.train()", "s#.eval()", "s#.w.data.fill_(?)", f"s#.w = nn.Parameter({FULL})", f"s#.b = {FULL}",
          "s#.b.fill_(?)",
        "s#.w.requires_grad_(False)", "s#.w.requires_grad_(True)", "del s#.b", f"s#.register_buffer('b', {FULL})",
        "s#.forward = lambda x: x * ?", "s#.load_state_dict(M#().state_dict())", "s#.w.grad = None", "s#.c = ?",
          "M#.k = ?",
        "s#.k = ?", "s#.register_forward_hook(lambda m, a, r: r * ?)", "s#._forward_hooks.clear()", "s#.double()",
          "s#.float()",
        f"s#.v = nn.Parameter({FULL})", "s# = M#()", f"s#.w.data = {FULL}",
          "M#.forward = lambda self, x: x * self.w"),
        after="[s#.w, s#.w.grad]"),
    _tensor("modules", _MODULE + "m# = nn.Sequential(nn.Tanh(), s#)\n"
            "l# = nn.ModuleList([M#(), s#])\nd# = nn.ModuleDict({'a': s#})",
            ("m#(x)", "l#[0](x)", "d#['a'](x)", "m#[0](h)", "sum(m(x) for m in l#)"), ("m#[0] = nn.ReLU()",
          "m#[1] = M#()",
            "m#[0].__class__ = nn.ReLU", "m#.append(nn.Tanh())", "l#[0] = M#()", "l#.append(M#())", "d#['a'] = M#()",
          "m#.eval()",
            "s#.train()", "m#[0] = nn.Tanh()", "s#.c = ?", "del m#[0]",
          "m#.register_forward_pre_hook(lambda m, a: (a[0] * ?,))"),
            after="[s#.w, s#.w.grad]"),
    State("optimizer", f"p# = nn.Parameter({FULL})\nq# = nn.Parameter({FULL})\no# = torch.optim.SGD([p#], lr=0.5)\n"
          "t# = torch.optim.lr_scheduler.StepLR(o#, 2)",
          ("!o#.zero_grad(); ((p# + q#) * x).sum().backward(); o#.step()",
          "!((p# + q#) * x).sum().backward(); o#.step()"), ("o#.param_groups[0]['lr'] = ?",
          "o#.param_groups[0]['momentum'] = 0.5",
          "o#.param_groups[0]['weight_decay'] = 0.25", "o#.add_param_group({'params': [q#]})", "o#.zero_grad()",
          "p#.grad = torch.ones(4)", "o# = torch.optim.SGD([p#], lr=0.25, momentum=0.5)", "o#.state.clear()",
          "p#.requires_grad_(False)",
          "p#.requires_grad_(True)", "o#.load_state_dict(o#.state_dict())", f"p#.data = {FULL}",
          "o#.param_groups[0]['nesterov'] = True", "t#.step()", "p#.grad = None"), after="[p#, q#, p#.grad, q#.grad]"),
    _tensor("tensors in containers", f"t# = {FULL}\ns# = [t#, {FULL}]\nd# = {{'a': t#}}", ("s#[0]", "s#[-1]",
          "d#['a']", "t#",
            "(t# if s#[0] is t# else t# * 2)", "sum(s#)"), (f"s#[0] = {FULL}", "s#[0].fill_(?)",
            f"s#.append({FULL})", f"t# = {FULL}", "t#.mul_(2)", "s#.reverse()", "d#['a'] = s#[1]", "s#[0] = t#",
          "t#.requires_grad_()",
            "t#.requires_grad_(False)", "s#[0], s#[-1] = s#[-1], s#[0]", f"t#.data = {FULL}", f"t#.set_({FULL})",
          "t#.resize_(2)",
            "t# = t#.double()", "t# = t#[:1]", "t#.grad = None"), after="[t#, s#[0].grad]"),
    _tensor("view", "b# = torch.arange(8.0)\nt# = b#[1:5]\na# = np.ones(4, 'float32')\nn# = torch.from_numpy(a#)",
          ("t#", "n#",
            "b#[:4]", "t#._base[:4]"), ("b#.mul_(2)", "t#.fill_(?)", "t# = b#[::2]", "t# = b#[4:]",
          "t# = torch.arange(5.0)[1:]",
            "a#[1] = ?", "b# = torch.ones(8)", "t#.data = b#[2:6]", "t#.data = b#[::2]",
            "n# = torch.from_numpy(a#[::-1].copy())"), after="[b#, t#]"),
    _tensor("gradient", f"p# = nn.Parameter({FULL})\nf# = torch.zeros(8)", ("p#.grad",
          "(p#.grad if p#.grad is not None else p#)",
            "p#"), ("p#.grad = torch.ones(4)", "p#.grad.mul_(2)", "p#.grad = f#[:4]", "p#.grad = f#[4:]",
          "p#.grad.data = f#[4:]",
            "p#.grad = None", "f#.fill_(?)", "p#.grad.set_(f#[4:])", "p#.grad.data = f#[::2]",
          "p#.grad = p#.grad.clone()",
            "p#.requires_grad_(False)", "p#.requires_grad_()", "p#.grad.zero_()", "p#.register_hook(lambda g: g * ?)",
            "del p#.grad"), after="[p#.grad, f#]"),
    State("flat gradients", f"p# = nn.Parameter({FULL})\nf# = torch.zeros(12)\np#.grad = f#[:4]",
          ("!(p# * x).sum().backward()", "!(p# * p# * x).sum().backward(); h = h + p#.grad"), ("p#.grad = f#[:4]",
          "p#.grad = f#[4:8]",
          "p#.grad.data = f#[4:8]", "p#.grad.data = f#[::3]", "p#.grad.set_(f#[8:])", "f#.zero_()", "p#.grad = None",
          "f# = torch.zeros(12); p#.grad = f#[2:6]", "p#.grad = p#.grad",
          "p#.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2))"),
          after="[p#.grad, f#]"),
    State("tensor with attribute", f"t# = {FULL}\nt#.w = ?", ("t#.w", "getattr(t#, 'v', 1.5)",
          "t#.requires_grad + 1", "t#.is_leaf + 1",
          "t#._version + 1", "t#.shape[0]", "t#.stride()[0]", "t#.storage_offset() + 1",
          "getattr(x, 'v', 1.5)"), ("t#.w = ?", "t#.v = ?",
          "del t#.w", "t#.requires_grad_()", "t#.mul_(2)", "t# = torch.ones(8)[1::2]", "t#.grad = torch.ones(4)",
          "torch.Tensor.v = ?"),
          restore="del torch.Tensor.v"),
    State("argument", f"t# = {FULL}\nu# = {FULL}\ns# = [t#]", ("(2.0 if x is t# else 1.0)", "x.stride()[0]",
          "x.storage_offset() + 1",
          "(any(x is t for t in s#) + 1)", "x.requires_grad + 1", "x._version + 1", "x.is_leaf + 1",
          "(1.0 if x.grad is None else 2.0)", "x.is_contiguous() + 1",
          "(x.data_ptr() == t#.data_ptr()) + 1"), ("t#, u# = u#, t#",
          "s#.append(u#)", "s#.clear()", f"t# = {FULL}", "t#.mul_(2)", "t#.requires_grad_()",
          "t#.grad = torch.ones(4)"),
          arguments=("t#", "t#", "u#", "t#[:]", "u#"), after="t#"),
    State("base of an argument", "", ("(x._base is None) + 1",), ("ramp(4)",)),
    State("gradient of a replaced tensor", f"def w#(k):\n    t = {FULL}.requires_grad_()\n    t.grad = "
          f"torch.full((4,), "
          "float(k))\n    return t\nt# = w#(?)", ("t#.grad", "t#.grad.sum()"), ("t# = w#(?)", "t#.grad.fill_(?)",
          "t#.grad = torch.full((4,), float(?))", "t#.grad = None"), is_tensor=True),
    State("gradient of an unused tensor", f"t# = {FULL}", ("(t#.grad is None) + 1",), ("t#.grad = torch.ones(4)",
          "t#.grad = None")),
    State("method of a module made within", "forward# = nn.ReLU.forward", ("nn.ReLU()(h)",),
          ("nn.ReLU.forward = lambda self, x: x * ?", "nn.ReLU.forward = forward#"), is_tensor=True,
          restore="nn.ReLU.forward = forward#"),
    State("own optimizer", "class O#(torch.optim.Optimizer):\n"
          "    def __init__(self, p): super().__init__(p, {'lr': 0.1})\n"
          "    @torch.no_grad()\n    def step(self):\n        for p in self.param_groups[0]['params']:\n"
          "            state = self.state[p]\n            if 'm' not in state: state['m'] = torch.zeros_like(p)\n"
          "            p.sub_(state['m'].mul_(0.5).add_(p.grad) * self.param_groups[0]['lr'])\n"
          f"p# = nn.Parameter({FULL})\nq# = nn.Parameter({FULL})\no# = O#([p#])",
          ("!o#.zero_grad(); (p# * x).sum().backward(); o#.step()",), ("o#.state.clear()", "del o#.state[p#]['m']",
          "o#.state[p#]['m'] = torch.ones(4)", "o#.state[p#] = {}", "o#.param_groups[0]['lr'] = ?",
          "o#.param_groups[0]['params'].append(p#)", "p#.grad = p#.data"), after="[p#, p#.grad]"),
    State("twice in a list", f"p# = nn.Parameter({FULL})\nq# = nn.Parameter({FULL})\ns# = [p#, p#]\n"
          "o# = torch.optim.SGD([p#], lr=0.5)", ("!sum((p * x).sum() for p in s#).backward()",
          "!(p# * x).sum().backward(); o#.step(); o#.zero_grad()", "!p#.grad = p#.data",
          "!p#.grad = x.detach() * 2; (p# * x).sum().backward()"), ("s#[1] = q#", "s#[1] = p#", "s#[0] = q#",
          "o#.param_groups[0]['params'].append(q#)", "o#.param_groups[0]['params'][-1] = p#", "p#.grad = None",
          "p#.grad = p#.data", "p#.data.fill_(?)", "p#.grad.mul_(2)"), after="[p#, q#, p#.grad, q#.grad]"),
    State("view made without gradients", f"p# = nn.Parameter({FULL})", ("!h = torch.no_grad()(lambda: p#[1:])()",
          "!h = torch.no_grad()(lambda: x[1:])()"), ("p#.data.fill_(?)", "p#.requires_grad_(False)",
          "p#.requires_grad_()")),
    State("state of an optimizer", f"p# = nn.Parameter({FULL})\no# = torch.optim.SGD([p#], lr=0.5)",
          ("!(p# * x).sum().backward(); o#.step()",), ("log.append(len(o#.state))", "o#.state.clear()")),
    State("identity of found tensors", f"t# = {FULL}\nu# = t#", ("(t# is u#) + 1", "[t#, u#].index(u#) + 1"),
          (f"u# = {FULL}", "u# = t#", f"t# = {FULL}")),
)

STATES: tuple[State, ...] = (*_OBJECTS, *_CONTAINERS, *_FUNCTIONS, *_LIBRARIES, *_TENSORS)
