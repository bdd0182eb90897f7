"""The files that the architecture page names exist, so that a reader can follow it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NAMED = re.compile(r"\b(?:[a-z_]+/)*[a-z_]+\.py\b")


def test_every_file_on_the_page_exists() -> None:
    sources = {str(path.relative_to(ROOT / "src" / "karmada")) for path in (ROOT / "src" / "karmada").rglob("*.py")}
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(_NAMED.findall(page))
    assert len(named) > 20
    lost = {name for name in named if not any(f"/{source}".endswith(f"/{name}") for source in sources)}
    assert not lost
