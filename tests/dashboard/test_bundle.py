"""The committed bundle of the dashboard: made from the sources that are here, small, nothing inline."""

import gzip
import json
import re
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "dashboard"
BUNDLE = ROOT / "src/karmada/dashboard/static"
MADE_FROM = ("index.html", "package.json", "package-lock.json", "src", "tsconfig.json", "vite.config.js")
LARGEST = 500 * 1024
"""Bytes of the whole bundle, compressed."""


def _hash(root: Path, paths: list[Path]) -> str:
    """The same rule as in dashboard/vite.config.js: one line per file, sorted."""
    files = [
        file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path]) if file.is_file()
    ]
    lines = [f"{file.relative_to(root).as_posix()} {sha256(file.read_bytes()).hexdigest()}\n" for file in files]
    return sha256("".join(sorted(lines)).encode()).hexdigest()


def _built() -> list[Path]:
    return [path for path in sorted(BUNDLE.iterdir()) if path.name != "stamp.json"]


def test_the_bundle_is_built_from_the_sources_that_are_here() -> None:
    stamp = json.loads((BUNDLE / "stamp.json").read_text())
    assert stamp["sources"] == _hash(SOURCES, [SOURCES / name for name in MADE_FROM]), "stale: run `make dashboard`"


def test_the_bundle_is_as_it_was_built() -> None:
    stamp = json.loads((BUNDLE / "stamp.json").read_text())
    assert stamp["bundle"] == _hash(BUNDLE, _built()), "changed by hand: run `make dashboard`"


def test_the_bundle_is_small() -> None:
    assert sum(len(gzip.compress(path.read_bytes(), mtime=0)) for path in _built()) <= LARGEST


def test_everything_but_the_entry_has_a_name_that_changes_with_its_content() -> None:
    names = [path.name for path in _built() if path.name != "index.html"]
    assert names
    assert all(re.fullmatch(r"[a-z]+-[A-Za-z0-9_-]{8}\.(js|css|svg)", name) for name in names), names


def test_the_entry_has_nothing_inline() -> None:
    page = (BUNDLE / "index.html").read_text()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)
    assert all(address.startswith("/dashboard/static/") for address in re.findall(r'(?:src|href)="([^"]+)"', page))


def test_the_lock_names_no_registry() -> None:
    lock = json.loads((SOURCES / "package-lock.json").read_text())
    assert all("resolved" not in package for package in lock["packages"].values())
    assert all(package.get("integrity") for name, package in lock["packages"].items() if name)
