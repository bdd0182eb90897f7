"""The generated tables are what their generators make today, and the notation of default roles reads back the same."""

import shutil
import subprocess
from pathlib import Path

import pytest

from karmada.apiserver.auth.defaults import default_objects
from karmada.apiserver.auth.generate import notation

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/karmada"
SERVER = PACKAGE / "apiserver"


@pytest.mark.tools
@pytest.mark.parametrize(
    "table", ["apiserver/protobuf/fields.txt", "apiserver/builtin/wire.txt", "interpreter/types.txt"]
)
def test_a_table_of_go_types_is_up_to_date(table):
    if shutil.which("go") is None:
        pytest.skip("needs Go")
    command = ["go", "run", "./tables", Path(table).stem]
    made = subprocess.run(command, cwd=ROOT / "tools", capture_output=True, text=True, check=True, timeout=900)
    assert made.stdout == (PACKAGE / table).read_text("utf-8")


def test_the_notation_of_default_roles_reads_back_the_same():
    own = "system:public-cluster-info-viewer"
    objects = [obj for _, obj in default_objects() if obj["metadata"]["name"] != own]
    assert notation(objects) == (SERVER / "auth/default_roles.txt").read_text("utf-8")
