"""The federation as a unit of systemd, and the versions of components that may work together."""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from karmada.api import version_skew
from karmada.api.version import VERSION
from karmada.standalone.service import HEADER, ServiceError, give, notify_systemd, quoted, service, unit_file
from karmada.standalone.version_check import components


class Systemctl:
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.commands: list[str] = []

    def __call__(self, arguments: Sequence[str]) -> int:
        self.commands.append(" ".join(arguments))
        return 0


@pytest.mark.parametrize("user", ["", "root"], ids=["user unit", "system unit"])
def test_systemd_finds_nothing_to_complain_about(tmp_path: Path, user: str) -> None:
    text = unit_file(tmp_path / "with space", ["--members", "5", "--feature-gates=Failover=true"], user)
    assert ("ProtectSystem=strict" in text) == bool(user)
    if shutil.which("systemd-analyze") is None:
        return  # the content is tested below
    (tmp_path / "karmada.service").write_text(text)
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "karmada.service")]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=60)
    complaints = [line for line in outcome.stderr.splitlines() if "karmada.service" in line]
    assert complaints == []


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("plain", "plain"),
        ("a b", '"a b"'),
        ("100%", "100%%"),
        ("$HOME", "$$HOME"),
        ('say "x"', r'"say \"x\""'),
        ("", '""'),
    ],
)
def test_words_mean_themselves(word: str, written: str) -> None:
    assert quoted(word) == written


def test_a_line_break_cannot_add_a_directive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert service(["install", "--print", "--data", f"{tmp_path}\nExecStartPre=/bin/false"]) == 1
    assert "cannot stand in a unit" in capsys.readouterr().err


def test_installing_and_uninstalling_a_user_unit(tmp_path: Path) -> None:
    run, environment = Systemctl(), {"XDG_CONFIG_HOME": str(tmp_path)}
    data = str(tmp_path / "data")
    assert service(["install", "--data", data, "--", "--members", "5"], run, environment) == 0
    unit = tmp_path / "systemd" / "user" / "karmada.service"
    text = unit.read_text()
    assert text.startswith(HEADER)
    assert f"up --data {data} --members 5\n" in text
    assert "Type=notify\n" in text
    assert "WantedBy=default.target" in text
    assert service(["uninstall"], run, environment) == 0
    assert not unit.exists()
    assert run.commands == [
        "--user daemon-reload",
        "--user enable --now karmada.service",
        "--user disable --now karmada.service",
        "--user daemon-reload",
    ]
    assert service(["status"], run, environment) == 0
    assert run.commands[-1] == "--user --no-pager status karmada.service"


def test_nothing_is_written_where_systemd_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "PATH": str(tmp_path)}
    assert service(["install", "--data", str(tmp_path / "data")], None, environment) == 1
    assert "systemctl is not here: --print shows the unit" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--membres", "5"], "unknown flag: --membres"),
        (["--members", "0"], "argument --members: '0' is no number above 0"),
        (["--feature-gates=Failovr=true"], "Failovr"),
        (["--detach"], "--detach: systemd runs the federation in the background already"),
        (["--data", "/elsewhere"], "write it before --"),
        (["--dat", "/elsewhere"], "unknown flag: --dat"),
        (["--fleet", "fleet.yaml"], "--fleet fleet.yaml: a service starts in another directory: write /"),
        (["--backup-every=1h", "--backup-to=backups"], "--backup-to backups: a service starts in another directory"),
    ],
)
def test_flags_with_which_it_would_never_start_are_refused_before_a_unit_is_written(
    tmp_path: Path, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Systemctl()
    with contextlib.suppress(SystemExit):
        assert service(["install", "--", *words], run, {"XDG_CONFIG_HOME": str(tmp_path)}) == 1
    assert complaint in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert run.commands == []


ME = pwd.getpwuid(os.getuid()).pw_name
OTHER = next(account for account in pwd.getpwall() if account.pw_uid != os.getuid())


def test_directories_of_a_system_unit_are_there_and_its_users(tmp_path: Path) -> None:
    data, backups = tmp_path / "lib" / "data", tmp_path / "lib" / "data" / "more" / "backups"
    before = os.umask(0o077)
    try:
        give([backups, data], ME)
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (data, backups, data.parent, backups.parent)}
    assert modes == {"data": 0o700, "backups": 0o700, "lib": 0o755, "more": 0o755}
    give([data, backups], ME)


def test_a_directory_is_another_users_only_where_root_makes_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    if os.geteuid() == 0:
        give([tmp_path / "data", tmp_path / "data" / "backups"], OTHER.pw_name)
        made = [tmp_path / "data", tmp_path / "data" / "backups"]
        assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {(OTHER.pw_uid, OTHER.pw_gid)}
        return
    with pytest.raises(ServiceError, match="run this with sudo"):
        give([tmp_path / "data"], OTHER.pw_name)
    assert not list(tmp_path.iterdir())


def test_nothing_is_made_where_one_directory_of_a_system_unit_is_refused(tmp_path: Path) -> None:
    foreign, shared, link = tmp_path / "foreign", tmp_path / "shared", tmp_path / "link"
    for folder in (foreign, shared):
        folder.mkdir()
    link.symlink_to(shared)
    with pytest.raises(ServiceError, match=f"chown -R {OTHER.pw_name}: {foreign}"):
        give([tmp_path / "data", foreign], OTHER.pw_name)
    with pytest.raises(ServiceError, match=f"{link} is a link or no directory"):
        give([tmp_path / "data", link / "backups"], ME)
    for mode in (0o777, 0o1777, 0o775):
        shared.chmod(mode)
        with pytest.raises(ServiceError, match=f"others than root and {ME} can write {shared}: make .*/backups"):
            give([tmp_path / "data", shared / "below" / "backups"], ME)
    assert not list(shared.iterdir())
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_a_unit_of_somebody_else_is_left_alone(tmp_path: Path, action: str, capsys: pytest.CaptureFixture[str]) -> None:
    run, unit = Systemctl(), tmp_path / "systemd" / "user" / "karmada.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    assert service([action], run, {"XDG_CONFIG_HOME": str(tmp_path)}) == 1
    assert "was not written by this command" in capsys.readouterr().err
    assert unit.read_text().startswith("[Service]")
    assert run.commands == []


def test_a_system_unit_runs_as_an_ordinary_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert service(["install", "--system", "--print"]) == 1
    assert "--run-as USER" in capsys.readouterr().err
    assert service(["install", "--system", "--run-as", "nobody", "--print", "--data", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "User=nobody\n" in text
    assert f"ReadWritePaths={tmp_path}\n" in text
    wish = ["--system", "--run-as", "nobody", "--print", "--data", str(tmp_path), "--"]
    assert service(["install", *wish, "--backup-every=1h", "--backup-to=/mnt/other disk"]) == 0
    assert f'ReadWritePaths={tmp_path} "/mnt/other disk"\n' in capsys.readouterr().out
    assert service(["install", "--system", "--run-as", "nosuchuser", "--data", str(tmp_path)], Systemctl()) == 1
    assert "useradd --system" in capsys.readouterr().err


def test_systemd_is_notified_only_when_it_asked(tmp_path: Path) -> None:
    notify_systemd("READY=1", {})
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as received:
        received.bind(str(path))
        notify_systemd("READY=1", {"NOTIFY_SOCKET": str(path)})
        assert received.recv(100) == b"READY=1"
    notify_systemd("READY=1", {"NOTIFY_SOCKET": str(tmp_path / "gone")})


@pytest.mark.parametrize(
    ("component", "words"),
    [
        ("1.5.0", ""),
        ("v1.5.9", ""),
        ("1.4.2", ""),
        ("1.3.0", "more than one minor version behind"),
        ("0.9.0", "more than one minor version behind"),
        ("1.6.0", "is newer than the control plane"),
        ("2.0.0", "is newer than the control plane"),
        ("", "does not say its version"),
        ("devel", "is no version"),
    ],
)
def test_a_component_may_be_one_minor_version_behind(component: str, words: str) -> None:
    found = version_skew.problem("1.5.1", component)
    assert words in found
    assert bool(found) == bool(words)


def test_components_are_known_by_their_leases() -> None:
    def lease(name: str, space: str, version: str = "") -> dict[str, object]:
        fields = {"annotations": {"karmada.io/component-version": version}} if version else {}
        return {"metadata": {"name": name, "namespace": space, **fields}}

    found = components(
        VERSION,
        [
            lease("karmada-scheduler", "karmada-system", VERSION),
            lease("member1", "karmada-cluster", "9.9.9"),
            lease("member2", "karmada-cluster"),
            lease("somebody-else", "default"),
        ],
    )
    assert [(one.name, bool(one.problem)) for one in found] == [
        ("this program", False),
        ("control plane", False),
        ("karmada-scheduler", False),
        ("agent of member1", True),
        ("agent of member2", True),
    ]
