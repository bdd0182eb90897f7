"""`docs/` as a small site: `python tools/site.py [DIRECTORY]` (default: site). Neither it nor its pages need a network.

Every page gets the list of pages beside it. Links to other pages lead to their HTML; a link that leads nowhere is an
error. Diagrams in mermaid stay text: a browser without scripts reads them too.
"""

import html
import re
import shutil
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 75rem; padding: 1.5rem; }
body { display: flex; gap: 2.5rem; }
nav { flex: 0 0 13rem; font-size: 0.9rem; } nav ul { list-style: none; padding: 0; } nav li { margin: 0.25rem 0; }
main { flex: 1; min-width: 0; } a { color: LinkText; text-decoration: none; } a:hover { text-decoration: underline; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.88em; }
pre { border: 1px solid var(--line); border-radius: 6px; padding: 0.8rem; overflow-x: auto; line-height: 1.4; }
img { max-width: 100%; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { border: 1px solid var(--line); padding: 0.3rem 0.6rem; text-align: left; vertical-align: top; }
@media (max-width: 45rem) { body { flex-direction: column; } nav { flex: none; } }
"""


def sources() -> dict[str, Path]:
    """The pages by the path they have on the site, without suffix."""
    docs = ROOT / "docs"
    found = {"index": ROOT / "README.md", "changelog": ROOT / "CHANGELOG.md", "contributing": ROOT / "CONTRIBUTING.md"}
    found |= {"benchmarks": ROOT / "BENCHMARKS.md"}
    return found | {str(path.relative_to(ROOT).with_suffix("")): path for path in sorted(docs.rglob("*.md"))}


def build(target: Path) -> int:
    """Write the site; the number of pages. Raises SystemExit for a link that leads nowhere."""
    pages = sources()
    where = {path.resolve(): name for name, path in pages.items()}
    reader = MarkdownIt("commonmark").enable("table")
    for name, path in pages.items():
        tokens = reader.parse(path.read_text())
        _anchors(tokens)
        _links(tokens, name, path, where)
        made = target / f"{name}.html"
        made.parent.mkdir(parents=True, exist_ok=True)
        body = reader.renderer.render(tokens, reader.options, {})
        made.write_text(_page(name, title(path), body, pages))
    shutil.copytree(ROOT / "docs" / "pictures", target / "docs" / "pictures", dirs_exist_ok=True)
    return len(pages)


def title(path: Path) -> str:
    """The first heading."""
    found = re.search(r"^# (.+)$", path.read_text(), re.MULTILINE)
    return found.group(1) if found else path.stem


def _anchors(tokens: Sequence[Token]) -> None:
    for token, inside in pairwise(tokens):
        if token.type == "heading_open":
            word = re.sub(r"[^\w\s-]", "", inside.content.lower())
            token.attrSet("id", re.sub(r"\s+", "-", word.strip()))


def _links(tokens: Sequence[Token], name: str, path: Path, where: dict[Path, str]) -> None:
    for token in tokens:
        for child in token.children or ():
            target = str(child.attrGet("href") or "") if child.type == "link_open" else ""
            if not target or "://" in target or target.startswith(("#", "mailto:")):
                continue
            file, _, anchor = target.partition("#")
            found = (path.parent / file).resolve()
            if found in where:
                up = "../" * name.count("/")
                child.attrSet("href", f"{up}{where[found]}.html" + (f"#{anchor}" if anchor else ""))
            elif not found.exists():
                raise SystemExit(f"error: {path.relative_to(ROOT)}: the link {target} leads nowhere")


def _page(name: str, heading: str, body: str, pages: dict[str, Path]) -> str:
    up = "../" * name.count("/")
    listed = [other for other in pages if not other.startswith("docs/cli/") or other == "docs/cli/README"]
    links = "".join(f'<li><a href="{up}{other}.html">{html.escape(title(pages[other]))}</a></li>' for other in listed)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(heading)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body><nav><ul>{links}</ul></nav>\n<main>{body}</main></body></html>\n"
    )


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    sys.stdout.write(f"{build(folder)} pages in {folder}: open {folder / 'index.html'}\n")
