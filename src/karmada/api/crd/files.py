"""The CRDs as YAML files: those of the control plane in one folder, those of the host cluster in `host/` below it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from karmada.api.crd.definition import definition
from karmada.api.kinds import KINDS, Home

FOLDER = Path(__file__).parent / "manifests"
_HEADER = "# Generated from the types in karmada.api by `make crds`. Do not edit.\n"


def files() -> Iterator[tuple[str, str]]:
    """Path below the folder and content of every file."""
    for kind in KINDS:
        if kind.home is not Home.AGGREGATED:
            folder = "host/" if kind.home is Home.HOST else ""
            yield f"{folder}{kind.group}_{kind.plural}.yaml", _HEADER + _render(definition(kind))


def write(folder: Path = FOLDER) -> None:
    """Write all files, and remove those of kinds that are gone."""
    contents = {folder / name: content for name, content in files()}
    for stale in set(folder.rglob("*.yaml")) - set(contents):
        stale.unlink()
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def _render(crd: dict[str, Any]) -> str:
    text: str = yaml.dump(crd, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
    return text


class _Dumper(yaml.CSafeDumper):
    """Writes shared subtrees in full: the API knows no YAML anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True
