"""Pictures of commands: made from a real terminal, and fit for every forge."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))


def test_what_a_command_prints_on_a_terminal_is_drawn_with_its_colours(tmp_path: Path) -> None:
    picture = tmp_path / "made.svg"
    code = "import sys; sys.stdout.write('\\033[32m\u2713\\033[0m <fine> ' + str(sys.stdout.isatty()) + '\\n')"
    subprocess.run(
        [sys.executable, ROOT / "tools/picture.py", str(picture), "80", sys.executable, "-c", code], check=True
    )
    root = ElementTree.fromstring(picture.read_text())
    texts = root.findall(".//{http://www.w3.org/2000/svg}text")
    assert "".join(texts[-1].itertext()) == "✓ <fine> True"
    assert texts[-1][0].get("class") == "g"


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_pictures_load_nothing_and_name_no_machine(picture: Path) -> None:
    text = picture.read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert "href" not in text
    assert "script" not in text
    assert "/home/" not in text


def test_every_picture_is_shown_by_a_page_and_every_page_shows_pictures_that_are_there() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {
        (page.parent / name).resolve()
        for page in pages
        for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text())
    }
    assert shown == {path.resolve() for path in (ROOT / "docs" / "pictures").iterdir()}
