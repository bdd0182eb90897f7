"""Logs of bounded size."""

from pathlib import Path

from karmada.standalone.logfile import LogFile, tail_and_size


def test_a_log_takes_up_no_more_than_twice_its_limit(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "part.log", limit=100)
    for number in range(1000):
        log.write(b"line %03d\n" % number)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 200
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part.log", "part.log.1"]
    assert log.tail().splitlines()[-1] == "line 999"


def test_the_end_is_found_across_the_seam(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "part.log", limit=30)
    for number in range(5):
        log.write(b"line %03d\n" % number)
    assert tail_and_size(log.path, 4)[0].splitlines() == ["line 001", "line 002", "line 003", "line 004"]


def test_no_lines_are_none(tmp_path: Path) -> None:
    (tmp_path / "part.log").write_bytes(b"one\ntwo\n")
    assert tail_and_size(tmp_path / "part.log", 0) == ("", 8)


def test_the_size_read_is_where_a_follower_goes_on(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "part.log", limit=30)
    for number in range(5):
        log.write(b"line %03d\n" % number)
    assert tail_and_size(log.path, 1) == ("line 004", log.path.stat().st_size)
    assert tail_and_size(tmp_path / "absent.log", 1) == ("", 0)


def test_lines_that_come_in_pieces_are_whole(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "part.log")
    for piece in (b"one\ntw", b"o\nthr", b"ee"):
        log.write(piece)
    assert log.tail() == "one\ntwo\nthree"


def test_a_disk_that_takes_nothing_costs_no_word(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "absent" / "part.log")
    log.write(b"error: the disk is full\n")
    assert log.tail() == "error: the disk is full"


def test_a_silent_process_has_a_log(tmp_path: Path) -> None:
    assert LogFile(tmp_path / "part.log").path.exists()
