"""Shared parts of the examples: options, progress, and a plot of the loss."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from tqdm import tqdm


def options(description: str, steps: int, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of the command line: ``steps``, ``seed`` and ``plot``."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=steps, help="steps of training")
    parser.add_argument("--seed", type=int, default=0, help="seed of all that is random")
    parser.add_argument("--plot", metavar="FILE", help="draw the losses (.png, .svg, .pdf; needs matplotlib)")
    given = parser.parse_args(arguments)
    if given.plot is not None:
        try:
            open(given.plot, "ab").close()  # a file that cannot be written must fail before the training
        except OSError as error:
            parser.error(f"argument --plot: {error}")
    return given


class Losses(list[float]):
    """The loss of each step, shown while they come."""

    def during(self, steps: int) -> Iterator[int]:
        """The numbers of the steps; a bar shows how far they have come, and the last loss."""
        with tqdm(range(steps), unit="step") as progress:
            for step in progress:
                yield step
                progress.set_postfix_str(f"loss {self[-1]:.4g}", refresh=False)

    def draw(self, file: str | None, title: str) -> None:
        """Draw them over the steps, on a logarithmic axis if all are positive; nothing if there is no ``file``."""
        if file is None:
            return
        import matplotlib

        matplotlib.use("agg")
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(7, 4))
        axes.plot(self)
        axes.set(title=title, xlabel="step", ylabel="loss", yscale="log" if min(self) > 0 else "linear")
        axes.grid(alpha=0.3)
        figure.savefig(file, bbox_inches="tight")
        pyplot.close(figure)
        print(f"losses drawn in {file}")
