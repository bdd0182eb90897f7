"""Memory of processes over time as a picture: `python -m benchmarks.memory_plot SAMPLES.csv FILE.svg`.

A line of the samples is the minutes since the start, the Deployments that came and went until then, and the megabytes
of the control plane and of the members' process.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

LEFT, WIDE, HIGH, TOP = 60, 740, 220, 40
STEP = 50
"""Megabytes between two lines."""
STYLE = """
  text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1f2328; }
  .f { fill: #f6f8fa; stroke: #d0d7de; } .g { stroke: #d0d7de; } .t { fill: #57606a; }
  .p1 { fill: none; stroke: #0969da; stroke-width: 2; } .p2 { fill: none; stroke: #1a7f37; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .f { fill: #161b22; stroke: #30363d; } .g { stroke: #30363d; } .t { fill: #8b949e; }
    .p1 { stroke: #58a6ff; } .p2 { stroke: #3fb950; }
  }
"""
NAMES = ("control plane", "process of the three members")


class Sample(NamedTuple):
    """Memory of both processes at one moment."""

    minutes: float
    deployments: int
    megabytes: tuple[float, ...]

    @classmethod
    def read(cls, line: str) -> "Sample":
        """A line of a file."""
        minutes, count, *megabytes = line.split(",")
        return cls(float(minutes), int(count), tuple(map(float, megabytes)))

    def __str__(self) -> str:
        return f"{self.minutes:.2f},{self.deployments}," + ",".join(f"{size:.1f}" for size in self.megabytes)


def drawn(samples: Sequence[Sample]) -> str:
    """An SVG with a line for each process."""
    end = samples[-1].minutes
    most = STEP * (1 + int(max(max(sample.megabytes) for sample in samples)) // STEP)

    def x(minutes: float) -> float:
        return LEFT + WIDE * minutes / end

    def y(megabytes: float) -> float:
        return TOP + HIGH * (1 - megabytes / most)

    parts = ['<rect class="f" x="0.5" y="0.5" width="99.9%" height="99.7%" rx="6"/>']
    for size in range(0, most + 1, STEP):
        parts.append(f'<line class="g" x1="{LEFT}" x2="{LEFT + WIDE}" y1="{y(size):.1f}" y2="{y(size):.1f}"/>')
        parts.append(f'<text class="t" x="{LEFT - 8}" y="{y(size) + 4:.1f}" text-anchor="end">{size} MB</text>')
    for minutes in range(0, int(end) + 1, max(1, int(end) // 6)):
        where = f'x="{x(minutes):.1f}" y="{TOP + HIGH + 18}"'
        parts.append(f'<text class="t" {where} text-anchor="middle">{minutes} min</text>')
    for number, name in enumerate(NAMES, 1):
        points = " ".join(f"{x(one.minutes):.1f},{y(one.megabytes[number - 1]):.1f}" for one in samples)
        at = LEFT + 200 * (number - 1)
        parts.append(f'<polyline class="p{number}" points="{points}"/>')
        parts.append(f'<line class="p{number}" x1="{at}" x2="{at + 24}" y1="22" y2="22"/>')
        parts.append(f'<text x="{at + 30}" y="27">{name}</text>')
    last = f'x="{LEFT + WIDE}" y="27" text-anchor="end"'
    parts.append(f'<text class="t" {last}>{samples[-1].deployments:,} Deployments came and went</text>')
    area = f'width="{LEFT + WIDE + 24}" height="{TOP + HIGH + 32}"'
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {area}>\n<style>{STYLE}</style>\n{body}\n</svg>\n'


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(drawn([Sample.read(line) for line in Path(sys.argv[1]).read_text().splitlines()]))
