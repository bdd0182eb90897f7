"""The bill of materials names everything that runs in production."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_pinned_package_is_in_it_with_its_hashes():
    made = subprocess.run([sys.executable, ROOT / "tools/sbom.py"], capture_output=True, text=True, check=True)
    document = json.loads(made.stdout)
    pinned = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements-production.lock").read_text(), re.MULTILINE))
    assert {component["name"] for component in document["components"]} == pinned
    assert all(component["hashes"] for component in document["components"])
    assert document["metadata"]["component"]["name"] == "pykarmada"
