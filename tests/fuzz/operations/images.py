"""Pooling, padding and other sizes of images."""

from __future__ import annotations

from fuzz.drawing import Draw, family


@family(4)
def of_images(draw: Draw) -> str:
    x = draw.value("float")
    rank = 1 if x.ndim < 3 else draw.pick((1, 2)) if x.ndim == 3 else 2
    shown = f"{x}" if x.ndim > rank else f"{x}.reshape({'1, ' * (rank + 1 - x.ndim)}*{x}.shape)"
    kernel, mode = draw.pick((1, 2, 3)), draw.pick(("reflect", "replicate", "circular"))
    widths = ", ".join([str(draw.pick((0, 1, 2, -1))) for _ in range(2 * rank)])
    choices = [
        f"F.avg_pool{rank}d({shown}, {kernel}, {draw.pick((1, 2))}, {kernel // 2})",
        f"F.lp_pool{rank}d({shown}, 2, {kernel})",
        f"F.max_pool{rank}d({shown}, {kernel}, 1)", f"F.adaptive_avg_pool{rank}d({shown}, {kernel})",
        f"F.adaptive_max_pool{rank}d({shown}, {kernel})", f"F.pad({shown}, ({widths}), '{mode}')",
    ]
    if x.ndim == rank + 2:
        linear = {1: "linear", 2: draw.pick(("bilinear", "bicubic"))}[rank]
        choices += [
            f"F.interpolate({x}, {draw.pick((1, 2, 5))}, mode='{draw.pick(('nearest', 'area', linear))}')",
            f"F.interpolate({x}, scale_factor={draw.pick((0.5, 1.5, 2))}, mode='{linear}', align_corners=True)",
        ]
    return draw.pick(choices)
