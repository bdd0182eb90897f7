"""Prints the licences of what runs in production as a table: `python tools/licences.py`; 1 if one is not permissive.

The packages are those of requirements-production.lock; the licences are what the installed packages declare.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PERMITTED = (
    "0BSD",
    "Apache",
    "BSD",
    "ISC",
    "MIT",
    "Mozilla Public License 2.0",
    "MPL-2.0",
    "PSF",
    "Python Software Foundation",
    "Unlicense",
    "CC0-1.0",
    "Zlib",
)
"""What a licence has in its name under which the package may be used in any product, shipped as it is."""
HERE = Path(__file__).parent


def packages() -> list[dict[str, Any]]:
    """What the bill of materials lists."""
    command = [sys.executable, str(HERE / "sbom.py")]
    written = subprocess.run(command, check=True, capture_output=True).stdout
    found: list[dict[str, Any]] = json.loads(written)["components"]
    return found


def licences(package: dict[str, Any]) -> list[str]:
    """The licences that a package declares."""
    return [entry["license"]["name"] for entry in package.get("licenses", ())]


def verdict(package: dict[str, Any]) -> str:
    """What is wrong with the licences of a package; nothing if it may be used."""
    declared = licences(package)
    if not declared:
        return "declares no licence, or is not installed here"
    if not any(all(map(_is_permitted, licence.split(" AND "))) for licence in declared):
        return "is not known to be permissive"
    return ""


def _is_permitted(alternatives: str) -> bool:
    return any(word in alternative for alternative in alternatives.split(" OR ") for word in PERMITTED)


def main() -> int:
    """Print the table."""
    found = [(package, verdict(package)) for package in packages()]
    for package, problem in found:
        declared = " or ".join(licences(package)) or "?"
        sys.stdout.write(f"{package['name']:<20} {package['version']:<14} {declared:<52} {problem}".rstrip() + "\n")
    return int(any(problem for _, problem in found))


if __name__ == "__main__":
    sys.exit(main())
