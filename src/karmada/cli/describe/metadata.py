"""Names, labels and annotations, as every description begins."""

from typing import Any

from karmada.api.annotations import LAST_APPLIED_CONFIGURATION
from karmada.cli.describe.page import Page

JSONObject = dict[str, Any]
LONGEST = 140


def labels(page: Page, found: JSONObject | None, name: str = "Labels", level: int = 0) -> None:
    """One label per line."""
    page.several(level, name, [f"{key}={value}" for key, value in sorted((found or {}).items())])


def annotations(page: Page, found: JSONObject | None, level: int = 0) -> None:
    """One annotation per line; long ones are cut."""
    lines: list[str] = []
    for key, value in sorted((found or {}).items()):
        if key == LAST_APPLIED_CONFIGURATION:
            continue
        text = str(value).removesuffix("\n")
        if len(key) + len(text) + 2 <= LONGEST and "\n" not in text:
            lines.append(f"{key}: {text}")
            continue
        lines.append(f"{key}:")
        lines += [f"  {_cut(line)}" for line in text.split("\n")]
    page.several(level, "Annotations", lines)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST - 2 else text[: LONGEST - 2] + "..."
