"""Random programs against PyTorch or finite differences, or compiled: ``python tests/fuzz/run.py --programs 50000``.

Every disagreement is printed with the shortest program that shows it, once for each kind; the end is a table of how
many programs ran in each mode and how they compared.  The exit status says whether any disagreed.

With ``--against changing``, programs are compiled that read Python state, which changes between calls of them.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections import Counter, defaultdict
from pathlib import Path

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.changing import difference, random_script, shorter_scripts
from fuzz.comparing import Disagreement
from fuzz.deviation import deviation
from fuzz.drawing import random_program
from fuzz.identities import itself
from fuzz.known import NUMGRAD_IS_RIGHT
from fuzz.modes import MODES
from fuzz.operations import FAMILIES
from fuzz.programs import Program
from fuzz.replaying import chance, replayed
from fuzz.shrinking import shorter_programs, shortest


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=1000, help="how many programs, each in one mode")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--mode", choices=[*MODES], help="only this mode; otherwise one after the other")
    parser.add_argument("--against", choices=("torch", "itself", "compiled", "changing"), default="torch")
    parser.add_argument("--shown", type=int, default=1, help="how many programs of each kind are printed")
    options = parser.parse_args(arguments)

    if options.against == "changing":
        return changing(range(options.seed, options.seed + options.programs))
    check, families = itself, FAMILIES
    if options.against == "compiled":
        check, families = replayed, [*FAMILIES, (1, chance)]
    if options.against == "torch":
        import torch

        torch.set_num_threads(1)
        check = functools.partial(deviation, torch)
    counts: dict[str, Counter] = defaultdict(Counter)
    kinds: Counter = Counter()
    seeds = tqdm(range(options.seed, options.seed + options.programs), unit=" programs", mininterval=2)
    try:
        for seed in seeds:
            mode = options.mode or [*MODES][seed % len(MODES)]
            program = random_program(seed, families, differentiable=options.against == "itself")
            unlike = check(mode, program, seed)
            counts[mode]["agree" if unlike is None else unlike.excuse or "disagree"] += 1
            if unlike is None or unlike.excuse not in (None, NUMGRAD_IS_RIGHT):
                continue
            program = shortest(program, lambda p: _same(unlike, check(mode, p, seed)), shorter_programs)  # noqa: B023
            final = check(mode, program, seed)
            kind = f"{mode}, {final.kind}, {_operations(program)}" + (f": {final.excuse}" if final.excuse else "")
            kinds[kind] += 1
            if kinds[kind] <= options.shown:
                tqdm.write(f"\n# seed {seed}, {kind}\n{program}\n# {final.text}\n")
    except KeyboardInterrupt:
        print("interrupted")
    for mode, count in counts.items():
        print(f"{mode}: {count.total()} programs, " + ", ".join(f"{n} {name}" for name, n in sorted(count.items())))
    for kind, number in kinds.most_common():
        print(f"{number:5} {kind}")
    return any(count["disagree"] for count in counts.values())


def changing(seeds: range) -> int:
    """Run scripts whose state changes; print the shortest one of each that disagrees, and how many there are."""
    counts: Counter = Counter()
    for seed in tqdm(seeds, unit=" scripts", mininterval=2):
        script = random_script(seed)
        unlike, is_refused = difference(script)
        counts["disagree" if unlike else "refused" if is_refused else "agree"] += 1
        if unlike:
            script = shortest(script, lambda shorter: difference(shorter)[0] is not None, shorter_scripts)
            tqdm.write(f"\n# seed {seed}: {difference(script)[0]}\n{script}")
    print(", ".join(f"{number} {name}" for name, number in sorted(counts.items())))
    return counts["disagree"] > 0


def _same(one: Disagreement, other: Disagreement | None) -> bool:
    return other is not None and other.kind == one.kind and other.excuse in (None, NUMGRAD_IS_RIGHT)


def _operations(program: Program) -> str:
    """Return the steps without their numbers, to distinguish kinds of disagreements."""
    return "; ".join(step.text for step in program.steps)


if __name__ == "__main__":
    sys.exit(main())
