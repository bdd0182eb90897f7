"""Every figure that README.md and docs/ claim, with the command that shows it; those that are cheap are tried.

    python -m benchmarks.claims

A claim with a `figure` is tried: the benchmark runs here and now, and the figure has to be within its bound, which
leaves room for a machine that is two or three times as slow. Of the others the command is printed; BENCHMARKS.md has
what it showed. `tests/docs/test_claims.py` fails for a figure in the documents that is not here, and for a claim
whose words are in no document any more.
"""

import importlib
import sys
from typing import NamedTuple

from benchmarks.result import Result

_BESIDE = "python -m benchmarks side_by_side --against-reference FOLDER --rounds 2 --count 300 --singles 20"
_SIZING = "python -m benchmarks sizing"
_STANDALONE = "python -m benchmarks standalone"
_SIMULATOR = "python -m benchmarks simulator"
_OPERATIONS, _PRODUCTION = "docs/operations.md", "docs/production.md"


class Claim(NamedTuple):
    """Words of a document, all in one line, and what shows that they are true."""

    document: str
    words: str
    command: str
    figure: str = ""
    """The result of the benchmark that is tried, if it is cheap."""
    bound: float = 0.0
    """What that figure may be at most."""


CLAIMS = (
    Claim("README.md", "three members Ready after a second", _STANDALONE, "karmada up, three members ready, warm", 3.0),
    Claim("README.md", "one process, 164 MB", _BESIDE),
    Claim("README.md", "seven processes, 1,557 MB", _BESIDE),
    Claim("README.md", "67 a second", _BESIDE),
    Claim("README.md", "5.5 a second", _BESIDE),
    Claim("README.md", "46 ms", _BESIDE),
    Claim("README.md", "237 ms", _BESIDE),
    Claim("docs/architecture.md", "thousands of virtual hours", "make soak"),
    Claim("docs/gateway.md", "about a sixth of theirs (180 µs", "python -m benchmarks gateway"),
    Claim("docs/gateway.md", "takes 30 µs already", "python -m benchmarks gateway"),
    Claim(_OPERATIONS, "155 MB, 0.7 MB for each small member", _SIZING),
    Claim(_OPERATIONS, "3.7 ms for each cluster of a workload", _SIZING),
    Claim(_OPERATIONS, "about 10 MB more, and 22 MB", "python -m benchmarks large_members"),
    Claim(_OPERATIONS, "| 10 | 1,000 × 3 | 0.2 GB |", _SIZING),
    Claim(_OPERATIONS, "| 100 | 10,000 × 3 | 0.5 GB |", _SIZING),
    Claim(_OPERATIONS, "| 1,000 | 10,000 × 5 | 1.3 GB |", _SIZING),
    Claim(_OPERATIONS, "| 1,000 | 50,000 × 5 | 3.2 GB |", _SIZING),
    Claim(_OPERATIONS, "| 10,000 | 100,000 × 5 | 11.9 GB |", _SIZING),
    Claim(_OPERATIONS, "1.3 GB while it went through what it found", "python -m benchmarks fleet"),
    Claim(_OPERATIONS, "1.7 GB after an edit of a policy", "python -m benchmarks fleet"),
    Claim(_OPERATIONS, "a seventh of the core; a policy's edit takes 5 ms", "python -m benchmarks fleet"),
    Claim(_OPERATIONS, "9 ms with a thousand clusters", "python -m benchmarks fleet"),
    Claim(_PRODUCTION, "less than 200 MB beside its base", "python -m pytest tests/deploy/test_image.py"),
    Claim(_PRODUCTION, "5 KB of memory for each cached object", _SIZING),
    Claim(_PRODUCTION, "10 ms of our components' CPU", "python -m benchmarks engine"),
    Claim(_PRODUCTION, "kube-apiserver and 7 ms of etcd", "python -m benchmarks engine"),
    Claim(_PRODUCTION, "60 MB + 5 KB × W", _SIZING),
    Claim(_PRODUCTION, "| 10 | 1,000 × 3 | 0.1 GB |", _SIZING),
    Claim(_PRODUCTION, "| 100 | 10,000 × 3 | 0.5 GB |", _SIZING),
    Claim(_PRODUCTION, "| 1,000 | 10,000 × 5 | 1.4 GB |", _SIZING),
    Claim(_PRODUCTION, "| 1,000 | 50,000 × 5 | 3.8 GB", _SIZING),
    Claim(_PRODUCTION, "| 10,000 | 100,000 × 5 | 13.1 GB", _SIZING),
    Claim("docs/services.md", "take 170 MB", "python -m benchmarks.services --services 150 --clusters 20"),
    Claim("docs/simulated-members.md", "starts in some 25 ms", _SIMULATOR, "member start, in-process", 75.0),
    Claim("docs/simulated-members.md", "costs about 1 MB", _SIMULATOR, "idle member of 3 nodes", 1.5),
    Claim(
        "docs/testing-policies.md",
        "a few hundred milliseconds",
        _STANDALONE,
        "federation(members=3) in a test, ready",
        500.0,
    ),
)


def main() -> int:
    """Try what is cheap, and name the commands for the rest; 1 when something does not hold."""
    cheap = [claim for claim in CLAIMS if claim.figure]
    found: dict[str, Result] = {}
    for module in dict.fromkeys(claim.command.rpartition(" ")[2] for claim in cheap):
        print(f"# {module}", flush=True)
        found |= {result.name: result for result in importlib.import_module(f"benchmarks.{module}").run()}
    broken = [claim for claim in cheap if found[claim.figure].value > claim.bound]
    for claim in CLAIMS:
        where = f"{claim.document}: {claim.words}"
        if claim.figure:
            result = found[claim.figure]
            verdict = "DOES NOT HOLD" if claim in broken else "holds"
            print(f"{verdict:<14} {where}: {result.value:.3g} {result.unit}, at most {claim.bound:g}")
        else:
            print(f"{'not tried':<14} {where}: {claim.command}")
    print(f"{len(cheap)} of {len(CLAIMS)} claims tried, {len(broken)} do not hold")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
