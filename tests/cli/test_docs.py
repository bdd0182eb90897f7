"""The pages about commands are those the commands make."""

from pathlib import Path

import pytest

from karmada.cli.docs import pages

FOLDER = Path(__file__).parents[2] / "docs" / "cli"


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_is_up_to_date(name: str) -> None:
    written = (FOLDER / name).read_text() if (FOLDER / name).exists() else ""
    assert written == pages()[name], "run python -m karmada.cli.docs"


def test_no_page_is_left_over() -> None:
    assert {path.name for path in FOLDER.glob("*.md")} == set(pages())
