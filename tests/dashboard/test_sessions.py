"""Sessions, one-time codes and guesses over time, without a server."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from karmada.apiserver.auth.model import UserInfo
from karmada.dashboard.answers import Refusal
from karmada.dashboard.credential import Credential
from karmada.dashboard.credential_cache import MOST_OF_ONE as MINE
from karmada.dashboard.credential_cache import CredentialCache
from karmada.dashboard.session_files import SessionFiles, kept
from karmada.dashboard.sessions import CODES_OF_ONE, GUESSES, MOST, MOST_OF_ONE, Guesses, Sessions
from karmada.dashboard.upstream import Upstream
from karmada.dashboard.view import View

ANN, BOB = Credential(UserInfo("ann"), "t1"), Credential(UserInfo("bob"), "t2")


class Hands:
    """A clock whose hands the test moves."""

    def __init__(self) -> None:
        self.at = 1_000_000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError

    def call_later(self, seconds: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        raise NotImplementedError

    def random(self) -> Random:
        return Random(0)


def test_a_session_ends_an_hour_after_its_last_use() -> None:
    clock = Hands()
    sessions = Sessions(clock)
    cookie = sessions.open(ANN)
    clock.at += 3500
    assert sessions.find(cookie) is not None
    clock.at += 3500
    assert sessions.find(cookie, touch=False) is not None
    clock.at += 101
    assert sessions.find(cookie) is None


def test_a_session_in_use_ends_after_twelve_hours() -> None:
    clock = Hands()
    sessions = Sessions(clock)
    cookie = sessions.open(ANN)
    for _ in range(23):
        clock.at += 1800
        assert sessions.find(cookie) is not None
    clock.at += 1800
    assert sessions.find(cookie) is None


def test_a_session_ends_with_the_certificate_that_began_it() -> None:
    clock = Hands()
    sessions = Sessions(clock)
    cookie = sessions.open(ANN._replace(token="", ends=clock.at + 60))
    code = sessions.offer(ANN._replace(token="", ends=clock.at + 60))
    clock.at += 61
    assert sessions.find(cookie) is None
    assert sessions.redeem(code) is None


def test_a_code_counts_once() -> None:
    sessions = Sessions(Hands())
    code = sessions.offer(ANN)
    assert sessions.redeem(code) == ANN
    assert sessions.redeem(code) is None


def test_a_code_counts_for_five_minutes() -> None:
    clock = Hands()
    sessions = Sessions(clock)
    code = sessions.offer(ANN)
    clock.at += 301
    assert sessions.redeem(code) is None


def test_sessions_and_codes_of_one_user_are_bounded_and_push_out_nobody_else() -> None:
    sessions = Sessions(Hands())
    bob, code = sessions.open(BOB), sessions.offer(BOB)
    opened = [sessions.open(ANN) for _ in range(MOST_OF_ONE + 5)]
    offered = [sessions.offer(ANN) for _ in range(CODES_OF_ONE + 5)]
    assert len(sessions) == MOST_OF_ONE + 1
    assert sessions.find(opened[0]) is None
    assert sessions.find(bob) is not None
    assert sessions.redeem(offered[0]) is None
    assert sessions.redeem(offered[-1]) == ANN
    assert sessions.redeem(code) == BOB


def test_sessions_of_all_users_are_bounded() -> None:
    sessions = Sessions(Hands())
    for number in range(MOST + 10):
        sessions.open(Credential(UserInfo(f"user{number}"), f"t{number}"))
    assert len(sessions) == MOST


def test_an_address_that_guesses_wrong_has_to_wait() -> None:
    clock = Hands()
    guesses = Guesses(clock)
    for _ in range(GUESSES):
        assert guesses.wait("10.0.0.1") == 0
        guesses.failed("10.0.0.1")
    assert guesses.wait("10.0.0.1") == 60
    assert guesses.wait("10.0.0.2") == 0
    clock.at += 60
    assert guesses.wait("10.0.0.1") == 0


def test_identifiers_are_long_and_their_own() -> None:
    sessions = Sessions(Hands())
    opened = {sessions.open(ANN), sessions.open(ANN)}
    offered = {sessions.offer(ANN).removeprefix("once-"), sessions.offer(ANN).removeprefix("once-")}
    assert len(opened | offered) == 4
    assert all(len(one) >= 43 for one in opened)
    assert all(len(one) >= 22 for one in offered)  # more than 128 bits, for five minutes


def test_only_the_same_credential_shares_what_is_kept() -> None:
    other = ANN._replace(token="t3")
    certificate = Credential(UserInfo("ann"))
    grouped = Credential(UserInfo("ann", ("system:masters",)))
    assert len({ANN.key, other.key, certificate.key, grouped.key}) == 4
    assert ANN.token not in "".join(ANN.key)


SECRET = Credential(UserInfo("ann", ("staff",), "7", {"scopes": ("a",)}), "the-token-of-ann")


def test_a_session_outlives_the_process_with_its_age(tmp_path: Path) -> None:
    clock, files = Hands(), SessionFiles(tmp_path, b"here")
    first = Sessions(clock, files=files)
    cookie = first.open(SECRET)
    before = first.find(cookie)
    assert before is not None
    clock.at += 1800
    first.find(cookie)
    clock.at += 1800
    found = Sessions(clock, files=files).find(cookie, touch=False)
    assert found is not None
    assert (found.credential, found.csrf) == (SECRET, before.csrf)
    assert clock.at - found.started == 3600
    clock.at += 1801
    assert Sessions(clock, files=files).find(cookie) is None, "an hour without use"
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_has_ended_does_not_come_back(tmp_path: Path) -> None:
    clock, files = Hands(), SessionFiles(tmp_path, b"here")
    sessions = Sessions(clock, files=files)
    left, old = sessions.open(ANN), sessions.open(BOB)
    sessions.close(left)
    for _ in range(25):
        sessions.find(old)
        clock.at += 1800
    again = Sessions(clock, files=files)
    assert again.find(left) is None
    assert again.find(old) is None, "twelve hours"
    ending = Sessions(clock, files=files)
    by_certificate = ending.open(ANN._replace(token="", ends=clock.at + 60))
    clock.at += 61
    assert Sessions(clock, files=files).find(by_certificate) is None


def test_stolen_files_hold_neither_tokens_nor_a_way_in(tmp_path: Path) -> None:
    clock, folder = Hands(), tmp_path / "sessions"
    sessions = Sessions(clock, files=SessionFiles(folder, b"here"))
    cookie, other = sessions.open(SECRET), sessions.open(BOB)
    assert folder.stat().st_mode & 0o777 == 0o700
    for path in folder.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
        content = path.read_bytes() + path.name.encode()
        for secret in (SECRET.token, "ann", cookie, other):
            assert secret.encode() not in content
        assert Sessions(clock, files=SessionFiles(folder, b"here")).find(path.name) is None
    names = sorted(folder.iterdir())
    names[0].write_bytes(names[1].read_bytes())  # somebody's file under another's name
    assert {one is None for one in map(Sessions(clock, files=SessionFiles(folder, b"here")).find, (cookie, other))} == {
        True,
        False,
    }
    assert Sessions(clock, files=SessionFiles(folder, b"elsewhere")).find(other) is None
    assert Sessions(clock, files=SessionFiles(folder, b"elsewhere")).find(cookie) is None


def test_files_that_cannot_be_written_or_read_cost_no_request(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    clock = Hands()
    sessions = Sessions(clock, files=SessionFiles(blocked, b"here"))
    cookie = sessions.open(ANN)
    assert sessions.find(cookie) is not None
    sessions.close(cookie)
    assert sessions.find(cookie) is None


def test_files_are_bounded(tmp_path: Path) -> None:
    clock = Hands()
    for number in range(MOST_OF_ONE):
        Sessions(clock, files=SessionFiles(tmp_path, b"here")).open(Credential(UserInfo(f"u{number}"), "t"))
        clock.at += 1
    clock.at += 3600
    Sessions(clock, files=SessionFiles(tmp_path, b"here")).open(ANN)
    assert len(list(tmp_path.iterdir())) == 1, "those that nobody used for an hour are swept"


def test_no_cookie_chooses_a_file(tmp_path: Path) -> None:
    """CVE-2024-56514: names from outside that became paths. A session that lies elsewhere, under a name to which the
    cookie would lead, is neither opened nor removed nor written over."""
    clock, folder, elsewhere = Hands(), tmp_path / "sessions", tmp_path / "outside"
    folder.mkdir()
    for cookie in ("../outside", str(elsewhere), "./../outside"):
        SessionFiles(tmp_path, b"here").put("outside", cookie, kept(ANN, "csrf", clock.at), MOST)
        planted = elsewhere.read_bytes()
        sessions = Sessions(clock, lambda named=cookie: named, SessionFiles(folder, b"here"))
        assert sessions.find(cookie) is None
        sessions.close(cookie)
        sessions.open(BOB)
        assert elsewhere.read_bytes() == planted
        assert {path.name for path in tmp_path.iterdir()} == {"sessions", "outside"}
    assert all(len(path.name) == 64 for path in folder.iterdir())


def account(number: int, namespace: str = "team") -> Credential:
    return Credential(UserInfo(f"system:serviceaccount:{namespace}:a{number}"), f"{namespace}-{number}")


def test_the_accounts_of_a_namespace_end_sessions_of_each_other_and_of_nobody_else() -> None:
    sessions = Sessions(Hands())
    anns = sessions.open(ANN)
    others = sessions.open(account(0, "other"))
    opened = [sessions.open(account(number)) for number in range(MOST + 10)]
    assert len(sessions) == MOST_OF_ONE + 2
    assert sessions.find(anns) is not None
    assert sessions.find(others) is not None
    assert sessions.find(opened[-1]) is not None


class Nowhere:
    """An upstream that is never asked."""

    def transport(self, credential: Credential, cluster: str = "", warn: Any = None) -> Any:
        return self

    async def close(self) -> None:
        return


class Watched(list[int]):
    """A view with a reader."""

    async def stop(self) -> None:
        return


async def test_the_accounts_of_a_namespace_take_the_places_of_each_other_and_of_nobody_else() -> None:
    cache = CredentialCache(cast(Upstream, Nowhere()), Hands())
    for number in range(MINE):
        cache.of(account(number))._views["team"] = cast(View, Watched([1]))
    with pytest.raises(Refusal, match="is signed in 20 times"):
        cache.of(account(MINE))
    assert cache.of(ANN).credential == ANN
    cache.of(account(3))._views.clear()
    assert cache.of(account(MINE)).credential == account(MINE)
    await cache.close()
