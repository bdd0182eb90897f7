"""How many workers there are, and what each begins with: long files first, a fair share for everybody, so that nobody
ends with a long test while others have nothing.

`--dist worksteal` gives each worker an equal run of the collected tests, and takes from the end of the fullest queue
for whoever is out of work. So long tests belong at the beginning of every run: what is left to take is short.
"""

import os
from pathlib import Path

import psutil
import pytest

TESTS = Path(__file__).parent
SECONDS = {
    "docs/test_commands.py": 125,
    "testing/test_failover_exploration.py": 45,
    "testing/test_propagation_exploration.py": 50,
    "apiserver/test_recorded_requests.py": 60,
    "dashboard/browser/test_browser.py": 50,
    "standalone/test_faults.py": 40,
    "standalone/test_disks.py": 35,
    "deploy/test_image.py": 30,
    "monitoring/test_prometheus.py": 30,
    "standalone/test_demo.py": 30,
    "standalone/test_what_runs.py": 25,
    "standalone/test_first_contact.py": 25,
    "cli/test_faults.py": 20,
    "documents/test_clusters.py": 20,
    "dashboard/browser/test_legible.py": 15,
    "standalone/test_killing.py": 15,
    "standalone/test_drill.py": 15,
    "upgrade/test_formats.py": 15,
    "cli/test_init_for_real.py": 10,
    "engine/test_components.py": 10,
    "controllers/test_resumption.py": 15,
    "federation/test_services.py": 10,
    "federation/test_leftovers.py": 10,
    "membership/test_reading_both_modes.py": 10,
    "documents/test_rescheduling.py": 10,
    "operator/test_embedded_for_real.py": 10,
    "tools/test_install.py": 10,
}
"""How long files took on an idle machine with two cores; a figure that is off costs a few seconds, not a failure."""


def workers() -> int | None:
    """What `-n auto` means: two workers per core, unless the environment says how many.

    Tests that start programs, which take the most time of all, wait during more than half of it: for a process to be
    up, a lease to run out, a recorded pause. One worker per core left the cores idle meanwhile.
    """
    if os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    return 2 * (psutil.cpu_count(logical=False) or psutil.cpu_count() or 1)


def balanced(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Tests in an order of which every worker's part begins with its share of long files."""
    files: dict[str, list[pytest.Item]] = {}
    rest = []
    for item in items:
        name = item.path.relative_to(TESTS).as_posix() if item.path.is_relative_to(TESTS) else ""
        if name in SECONDS:
            files.setdefault(name, []).append(item)
        else:
            rest.append(item)
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    loads = [0] * workers
    for name in sorted(files, key=lambda name: (-SECONDS[name], name)):
        least = loads.index(min(loads))
        loads[least] += SECONDS[name]
        shares[least].extend(files[name])
    ordered = []
    left = len(items)
    for position, share in enumerate(shares):
        part = left // (workers - position)  # As the scheduler of pytest-xdist divides.
        short = max(0, part - len(share))
        ordered += [*share, *rest[:short]]
        rest = rest[short:]
        left -= len(share) + short
    return [*ordered, *rest]
