"""Grafana boards, made from the titles, units and queries of `boards.yaml`."""

from functools import cache
from pathlib import Path

import msgspec

from karmada.api import yaml
from karmada.machinery.transport import JSONObject

WIDTH, HEIGHT, COLUMNS = 12, 8, 2
SCHEMA = 39
"""The version of Grafana's dashboard model: that of Grafana 10, which later ones migrate by themselves."""
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


class Panel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One graph: its queries by legend."""

    title: str
    unit: str
    queries: dict[str, str]


class Board(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One dashboard."""

    title: str
    uid: str
    panels: tuple[Panel, ...]


@cache
def boards() -> tuple[Board, ...]:
    """All boards."""
    text = Path(__file__).with_name("boards.yaml").read_text()
    return msgspec.convert(yaml.load(text), tuple[Board, ...])


def dashboard(board: Board) -> JSONObject:
    """A board as Grafana imports it; the data source is chosen there."""
    return {
        "uid": board.uid,
        "title": f"Karmada / {board.title}",
        "tags": ["karmada"],
        "schemaVersion": SCHEMA,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}]
        },
        "panels": [_panel(number, panel) for number, panel in enumerate(board.panels)],
    }


def _panel(number: int, panel: Panel) -> JSONObject:
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": DATASOURCE,
        "gridPos": {"x": number % COLUMNS * WIDTH, "y": number // COLUMNS * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": DATASOURCE, "expr": query, "legendFormat": legend}
            for index, (legend, query) in enumerate(panel.queries.items())
        ],
    }
