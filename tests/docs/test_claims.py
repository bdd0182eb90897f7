"""What README.md and docs/ claim in figures has a command that shows it."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from benchmarks import __main__ as benchmarks
from benchmarks.claims import CLAIMS, Claim

ROOT = Path(__file__).parents[2]
FIGURE = re.compile(
    r"\d[\d.,]* (?:MB|GB|KB|ms|µs|% of a core)\b|\d[\d.,]* (?:a|per) second\b"
    r"|\ba (?:half|third|quarter|fifth|sixth|seventh|tenth) of\b"
)
METHOD = "docs/benchmarks.md"
"""Names targets; BENCHMARKS.md has what was measured, with commands."""
RULES = {
    "docs/autoscaling-and-quota.md": ["10 MB): of more"],
    "docs/differences-from-karmada.md": ["a third of a binding"],
    "docs/gateway.md": ["at most a fifth of those under way"],
    "docs/kubernetes-compatibility.md": ["as a tenth of a byte"],
    "docs/operations.md": ["the last 5 to 10 MB are kept", "within a tenth of a second", "of one member 200 a second"],
    "docs/production.md": ["a third of their life", "etcd holds about 2 GB"],
    "docs/security.md": ["longer than 50 ms is bounded"],
}
"""Figures that say what the product does or what others recommend, and nothing about how well."""


def prose(document: str) -> list[str]:
    """The lines outside of code."""
    parts = re.split(r"^```.*?^```$", (ROOT / document).read_text(), flags=re.MULTILINE | re.DOTALL)
    return "\n".join(parts).splitlines()


DOCUMENTS = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]


@pytest.mark.parametrize("document", [name for name in DOCUMENTS if name != METHOD])
def test_a_figure_of_a_document_is_a_claim_with_a_command_or_a_rule(document: str) -> None:
    known = [*RULES.get(document, ()), *(claim.words for claim in CLAIMS if claim.document == document)]
    unknown = [line for line in prose(document) if FIGURE.search(line) and not any(words in line for words in known)]
    assert not unknown, f"name the command that shows it in benchmarks/claims.py: {unknown}"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.document}: {claim.words}")
def test_a_claim_stands_in_its_document_and_its_command_exists(claim: Claim) -> None:
    assert any(claim.words in line for line in prose(claim.document))
    program, *words = claim.command.split()
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    elif words[:2] == ["-m", "benchmarks"]:
        assert words[2] in (*benchmarks.MODULES, "side_by_side")
    elif words[:2] == ["-m", "pytest"]:
        assert (ROOT / words[2]).exists()
    elif words[:1] == ["-m"]:
        assert find_spec(words[1]) is not None
    else:
        pytest.fail(f"nothing shows whether this command exists: {claim.command}")
    if claim.figure:
        assert f'"{claim.figure}"' in (ROOT / f"benchmarks/{words[2]}.py").read_text()


def test_what_the_readme_claims_beside_the_reference_was_measured_in_one_run() -> None:
    beside = (ROOT / "BENCHMARKS.md").read_text().partition("## Beside the reference, in one run")[2]
    for claim in CLAIMS:
        if claim.document == "README.md" and not claim.figure:
            (figure,) = re.findall(r"\d[\d.,]*", claim.words)
            assert figure in beside, claim.words
