"""The recorded scenarios: what each needs, and which are about parts that are not built yet."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from karmada.api import yaml

NOT_YET: frozenset[str] = frozenset()
"""Areas of which nothing is claimed yet."""


class Scenario(NamedTuple):
    """One folder of steps with their recorded traces."""

    name: str
    folder: Path
    area: str
    profile: str
    is_last: bool
    """It takes the environment apart."""
    pull: tuple[str, ...] = ()
    """Members that are connected by an agent."""
    stops_members: bool = False
    """Steps stop and start a member's API server, which only simulated members offer."""


def find(folder: Path) -> list[Scenario]:
    """The scenarios of a folder, or the one that the folder is; those that destroy the environment at the end."""
    files = [folder / "scenario.yaml"] if (folder / "scenario.yaml").exists() else folder.glob("*/scenario.yaml")
    return sorted(map(_read, files), key=lambda scenario: (scenario.is_last, scenario.name))


def by_setting(scenarios: Iterable[Scenario]) -> dict[tuple[str, tuple[str, ...]], list[Scenario]]:
    """Scenarios that can share a federation, by their profile and the members with agents."""
    groups: dict[tuple[str, tuple[str, ...]], list[Scenario]] = {}
    for scenario in scenarios:
        groups.setdefault((scenario.profile, scenario.pull), []).append(scenario)
    return groups


def _read(path: Path) -> Scenario:
    facts = yaml.load(path.read_text())
    return Scenario(
        path.parent.name,
        path.parent,
        facts["area"],
        facts.get("profile", "default"),
        bool(facts.get("last")),
        tuple(facts.get("pullClusters") or ()),
        any("verb: hook" in step.read_text() for step in (path.parent / "steps").glob("*.yaml")),
    )
