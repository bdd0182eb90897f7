"""A Deployment that is followed, and the picture of its way: `python -m tests.federation.tracing FILE.svg`."""

import asyncio
import html
import sys
from pathlib import Path
from typing import Any

from tests.federation.conftest import federated

from karmada.api.annotations import TRACEPARENT
from karmada.machinery.tracing import Span, Spans
from karmada.machinery.transport import GroupVersionResource

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
STEPS = {"apply policy", "schedule", "write Works", "dispatch", "aggregate status"}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "namespace": "default",
        "annotations": {TRACEPARENT: f"00-{TRACE}-{PARENT}-01"},
    },
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx"}]},
        },
    },
}
POLICY: dict[str, Any] = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
        "placement": {"clusterAffinity": {"clusterNames": ["member1", "member2"]}},
    },
}
ROW, LEFT, WIDE, PADDING = 24, 330, 560, 14
STYLE = """
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328; }
  .f { fill: #f6f8fa; stroke: #d0d7de; } .s { fill: #0969da; } .p { fill: #57606a; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .f { fill: #161b22; stroke: #30363d; } .s { fill: #4493f8; } .p { fill: #8b949e; }
  }
"""


async def followed(deployment: dict[str, Any] = DEPLOYMENT) -> list[Span]:
    """The spans of a Deployment's way into two members and back, by their start."""
    spans = Spans()
    async with federated(spans=spans) as federation:
        await federation.apply(POLICY, deployment)
        for member in federation.members:
            await federation.arrives(member, DEPLOYMENTS, "web")

        async def complete() -> bool:
            return {span.name for span in spans.waiting} >= STEPS

        if TRACEPARENT in (deployment["metadata"].get("annotations") or {}):
            await federation.happens(complete)
    return sorted(spans.waiting, key=lambda span: span.start)


def drawn(spans: list[Span]) -> str:
    """The way as an SVG: a bar for every span."""
    first, last = spans[0].start, max(span.end for span in spans)
    scale = WIDE / (last - first)
    high = (len(spans) + 1) * ROW + 2 * PADDING
    rows = []
    for number, span in enumerate(spans):
        y = PADDING + number * ROW
        where = span.attributes.get("cluster", "")
        name = html.escape(f"{span.component.removeprefix('karmada-')}: {span.name} {where}".rstrip())
        x, length = LEFT + (span.start - first) * scale, max(2.0, (span.end - span.start) * scale)
        rows.append(f'<text x="{PADDING}" y="{y + 16}">{name}</text>')
        rows.append(f'<rect class="s" x="{x:.1f}" y="{y + 5}" width="{length:.1f}" height="14" rx="2"/>')
    total = f"{(last - first) * 1000:.0f} ms"
    rows.append(f'<text class="p" x="{LEFT}" y="{high - PADDING}">0 ms</text>')
    rows.append(f'<text class="p" x="{LEFT + WIDE}" y="{high - PADDING}" text-anchor="end">{total}</text>')
    size = f'width="{LEFT + WIDE + 2 * PADDING}" height="{high}"'
    body = "\n".join(rows)
    frame = '<rect class="f" x="0.5" y="0.5" width="99.9%" height="99.5%" rx="6"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{STYLE}</style>\n{frame}\n{body}\n</svg>\n'


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(drawn(asyncio.run(followed())))
