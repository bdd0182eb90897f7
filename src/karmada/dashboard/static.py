"""The built bundle: files of one folder, named by an exact table made at the start, so that no path leads out of it."""

import re
from pathlib import Path

from karmada.dashboard.answers import FOREVER, PRIVATE
from karmada.machinery.httpserver.model import HttpResponse

FOLDER = Path(__file__).parent / "static"
INDEX = "index.html"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_HASHED = re.compile(r"[-.][A-Za-z0-9_-]{8,}\.[a-z0-9]+$")
_MISSING = (
    b"<!doctype html><meta charset=utf-8><title>Karmada</title>"
    b"<p>This installation has no pages of the dashboard: build them with <code>make dashboard</code>."
)


class Static:
    """Serves the files that are there; only those of a known type."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): path
            for path in (sorted(folder.rglob("*")) if folder.is_dir() else ())
            if path.is_file() and not path.is_symlink() and path.suffix in TYPES
        }

    def file(self, name: str) -> HttpResponse | None:
        """A file by its path within the folder; None where there is none."""
        path = self._files.get(name)
        if path is None:
            return None
        headers = FOREVER if _HASHED.search(name) else {"Cache-Control": "no-cache"}
        return HttpResponse(200, path.read_bytes(), TYPES[path.suffix], dict(headers))

    def index(self) -> HttpResponse:
        """The page in which everything is shown; it holds no data."""
        path = self._files.get(INDEX)
        body = path.read_bytes() if path is not None else _MISSING
        return HttpResponse(200, body, TYPES[".html"], dict(PRIVATE))
