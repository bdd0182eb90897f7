"""How tests are divided among workers: nothing is lost, and every worker begins with its share of the long files."""

from types import SimpleNamespace

import pytest
from tests.balance import SECONDS, TESTS, balanced


def collected(*files, each=3):
    return [SimpleNamespace(path=TESTS / name, nodeid=f"{name}::{number}") for name in files for number in range(each)]


def parts(items, workers):
    """What each worker is given first, as `--dist worksteal` divides."""
    left = list(items)
    for position in range(workers):
        count = len(left) // (workers - position)
        yield left[:count]
        left = left[count:]


SHORT = [f"api/test_{number}.py" for number in range(200)]


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 8])
def test_every_worker_begins_with_its_share_of_long_files(workers):
    items = collected(*SHORT[:70], *SECONDS, *SHORT[70:])
    shares = []
    for part in parts(balanced(items, workers), workers):
        names = [item.path.relative_to(TESTS).as_posix() for item in part]
        long = [name in SECONDS for name in names]
        assert long == sorted(long, reverse=True)
        shares.append(sum({name: SECONDS[name] for name in names if name in SECONDS}.values()))
    assert sum(shares) == sum(SECONDS.values())
    assert max(shares) - min(shares) <= max(SECONDS.values())


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 50])
@pytest.mark.parametrize("files", [[], [*SECONDS], SHORT, [*SHORT[:3], *SECONDS], [*SECONDS][:1]], ids=len)
def test_no_test_is_lost_or_repeated(files, workers):
    items = collected(*files)
    assert sorted(item.nodeid for item in balanced(items, workers)) == sorted(item.nodeid for item in items)


def test_tests_of_a_file_stay_together_in_their_order():
    files = {name: collected(name) for name in SECONDS}
    ordered = [item.nodeid for item in balanced(collected(*SHORT, *files), 2)]
    for tests in files.values():
        first = ordered.index(tests[0].nodeid)
        assert ordered[first : first + len(tests)] == [item.nodeid for item in tests]


def test_the_files_that_count_as_long_exist():
    assert [name for name in SECONDS if not (TESTS / name).is_file()] == []
