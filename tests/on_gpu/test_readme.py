"""The README's example of a kernel of one's own does what it says."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_a_kernel_of_ones_own(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    (program,) = [block for block in blocks if "@cuda.jit" in block]
    exec(compile(program, str(README), "exec"), {})
    promised = re.search(r"^print\(.*?\) +# (.*)$", program, re.M)[1]
    assert capsys.readouterr().out.strip() == promised
