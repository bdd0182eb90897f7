"""The documentation as a site, and as manual pages."""

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

from karmada.cli import catalog
from karmada.cli.man import pages

ROOT = Path(__file__).parents[2]


class Links(HTMLParser):
    """What a page leads to and loads."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "href" and tag == "a":
                self.targets.append(value or "")
            elif name in ("src", "href"):
                self.loaded.append(value or "")
            elif name == "id":
                self.ids.add(value or "")


def read(path: Path) -> Links:
    links = Links()
    links.feed(path.read_text())
    return links


def test_the_site_is_complete_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "tools/site.py", str(tmp_path)], check=True, capture_output=True)
    made = {path: read(path) for path in tmp_path.rglob("*.html")}
    assert len(made) > 50
    for page, links in made.items():
        assert [source for source in links.loaded if not (page.parent / source).is_file()] == [], page
        for target in links.targets:
            file, _, anchor = target.partition("#")
            if "://" in target or not (file.endswith(".html") or anchor):
                continue
            found = (page.parent / file).resolve() if file else page
            assert found in made, f"{page.name}: {target}"
            assert not anchor or anchor in made[found].ids, f"{page.name}: {target}"


def test_every_command_has_a_manual_page() -> None:
    made = pages()
    assert {f"karmadactl-{name}.1" for name in catalog.NAMES} | {"karmadactl.1", "karmada.1"} == made.keys()
    for name, text in made.items():
        assert text.startswith(".TH "), name
        bad = [
            line
            for line in text.splitlines()
            if line.startswith("'") or re.match(r"\.(?!TH|SH|SS|TP|BR?|PP|nf|fi)", line)
        ]
        assert bad == [], name


def test_manual_pages_are_set_without_complaint(tmp_path: Path) -> None:
    program = shutil.which("groff")
    if program is None:
        return  # the check above is what every machine can do
    for name, text in pages().items():
        (tmp_path / name).write_text(text)
        done = subprocess.run(
            [program, "-man", "-Kutf8", "-Tutf8", "-ww", str(tmp_path / name)], capture_output=True, check=True
        )
        assert done.stderr == b"", name
