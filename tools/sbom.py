"""Writes a CycloneDX bill of materials of what runs in production: `python tools/sbom.py > sbom.json`.

Names, versions and hashes come from requirements-production.lock, licences from the installed packages.
"""

import json
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST_NAME = 60
"""Characters of a licence's name: some packages put the whole text there."""
PIN = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\\n]+)(?P<rest>.*?)(?=^[A-Za-z0-9]|\Z)", re.MULTILINE | re.DOTALL
)


def main() -> int:
    """Print the document."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lock = (ROOT / "requirements-production.lock").read_text()
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": _component("application", project["name"], project["version"], [project["license"]])},
        "components": [_package(pin) for pin in PIN.finditer(lock)],
    }
    json.dump(document, sys.stdout, indent=2)
    sys.stdout.write("\n")
    return 0


def _package(pin: re.Match[str]) -> dict[str, object]:
    name, version = pin["name"], pin["version"]
    digests = re.findall(r"--hash=sha256:([0-9a-f]{64})", pin["rest"])
    hashes = [{"alg": "SHA-256", "content": digest} for digest in digests]
    return _component("library", name, version, _licences(name)) | {"hashes": hashes}


def _component(kind: str, name: str, version: str, licences: list[str]) -> dict[str, object]:
    made: dict[str, object] = {
        "type": kind,
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name.lower().replace('_', '-')}@{version}",
    }
    return made | ({"licenses": [{"license": {"name": licence}} for licence in licences]} if licences else {})


def _licences(name: str) -> list[str]:
    try:
        said = metadata(name)
    except PackageNotFoundError:
        return []
    if expression := said.get("License-Expression"):
        return [expression]
    classifiers = [one for one in said.get_all("Classifier") or () if one.startswith("License :: ")]
    named = [one.rpartition(" :: ")[2] for one in classifiers if one.count(" :: ") > 1]
    line = (said.get("License") or "").strip().partition("\n")[0]
    return named or ([line] if line and len(line) <= LONGEST_NAME else [])


if __name__ == "__main__":
    sys.exit(main())
