"""What must hold of a history; each check returns what is wrong, in sentences.

Every commit has a revision and revisions are the order of commits, so that nothing has to be searched for: a history
is linearizable if replaying the commits in the order of revisions explains every answer, and if that order agrees with
time: what began after something had been answered is later.
"""

from bisect import bisect_right
from collections.abc import Iterator

from karmada.machinery.transport import EventType
from karmada.testing.histories.record import Commit, History, Outcome, Read, Seen, Stream, Write, color_of, text_of


def check(history: History) -> list[str]:
    """Everything that is wrong with a history."""
    states = _States(history.commits)
    problems = [*history.problems, *_order(history), *_writes(history, states), *_times(history)]
    for read in history.reads:
        problems += _read(read, states)
    for stream in history.streams:
        problems += _stream(stream, history.commits)
    return problems


class _States:
    """What each key was at each revision."""

    def __init__(self, commits: list[Commit]) -> None:
        self._of: dict[str, list[Commit]] = {}
        for commit in commits:
            self._of.setdefault(commit.key, []).append(commit)

    def at(self, key: str, revision: int) -> Commit | None:
        """The state of a key at a revision; None without one."""
        commits = self._of.get(key, [])
        place = bisect_right(commits, revision, key=lambda commit: commit.revision)
        found = commits[place - 1] if place else None
        return found if found is not None and found.body is not None else None

    def whole(self, prefix: str, revision: int) -> dict[str, bytes]:
        """All objects under a prefix at a revision."""
        states = ((key, self.at(key, revision)) for key in self._of if key.startswith(prefix))
        return {key: state.body for key, state in states if state is not None and state.body is not None}


def _order(history: History) -> Iterator[str]:
    last = 0
    for commit in history.commits:
        if commit.revision <= last:
            yield f"revision {commit.revision} was committed after {last}"
        if commit.body is not None and b'"resourceVersion":"%d"' % commit.revision not in commit.body:
            yield f"{commit.key}@{commit.revision} carries another resourceVersion"
        last = commit.revision


def _writes(history: History, states: _States) -> Iterator[str]:
    """Commits and what was answered to writers are the same."""
    by_revision = {commit.revision: commit for commit in history.commits}
    by_text = {write.text: write for write in history.writes if not write.deletes}
    deletions: dict[tuple[str, int], list[Write]] = {}
    for write in history.writes:
        if write.deletes:
            deletions.setdefault((write.key, write.expected), []).append(write)
    for write in history.writes:
        if write.outcome is not Outcome.DONE:
            continue
        commit = by_revision.get(write.revision)
        if commit is None or commit.key != write.key or (commit.body is None) is not write.deletes:
            yield f"acknowledged, but lost: {write}"
        elif commit.body is not None and text_of(commit.body) != write.text:
            yield f"acknowledged, but another value was committed: {write}"
    for commit in history.commits:
        before = states.at(commit.key, commit.revision - 1)
        stood = before.revision if before is not None else 0
        if commit.body is not None:
            author = by_text.get(text_of(commit.body))
        else:
            author = min(deletions.get((commit.key, stood), ()), key=lambda write: _likely(write, commit), default=None)
        if author is None:
            yield f"nobody wrote {commit.key}@{commit.revision}"
        elif author.outcome in (Outcome.CONFLICT, Outcome.FAILED):
            yield f"took effect at {commit.revision} although its author was answered otherwise: {author}"
        elif author.outcome is Outcome.UNKNOWN:
            author.revision = commit.revision
        if author is not None and author.expected != stood:
            yield f"took effect at {commit.revision} although the key was at {stood}: {author}"


def _likely(write: Write, commit: Commit) -> tuple[bool, bool]:
    """Sorts first who deleted: it was answered this revision; else it does not know."""
    acknowledged = write.outcome is Outcome.DONE and write.revision == commit.revision
    return not acknowledged, write.outcome is not Outcome.UNKNOWN


def _times(history: History) -> Iterator[str]:
    """Revisions agree with time."""
    moments: list[tuple[int, bool, Write | Read]] = []
    actions: list[Write | Read] = [*history.writes, *(read for read in history.reads if read.fresh)]
    for action in actions:
        moments.append((action.start, False, action))
        if action.end and not (isinstance(action, Write) and action.outcome is Outcome.FAILED):
            moments.append((action.end, True, action))
    known = 0
    for _, ends, action in sorted(moments, key=lambda moment: moment[0]):
        if ends:
            if isinstance(action, Write) and action.outcome is Outcome.UNKNOWN:
                continue
            if isinstance(action, Write) and action.outcome is Outcome.CONFLICT and action.revision == action.expected:
                yield f"a conflict with the very revision that was expected: {action}"
            known = max(known, action.revision)
        elif isinstance(action, Read):
            if action.revision < known:
                yield f"stale, revision {known} had been seen before: {action}"
        elif action.revision and action.outcome is not Outcome.CONFLICT and action.revision <= known:
            yield f"committed before it was asked for, revision {known} had been seen: {action}"


def _read(read: Read, states: _States) -> Iterator[str]:
    expected = states.whole(read.prefix, read.revision)
    if read.found != expected:
        differing = {key for key, _ in read.found.items() ^ expected.items()}
        yield f"{read}: differs from what was committed in {', '.join(sorted(differing))}"


def _stream(stream: Stream, commits: list[Commit]) -> Iterator[str]:
    expected = list(_expected(stream, commits))
    start = [event for event in expected if event.revision <= stream.after]
    events = stream.events
    if stream.initial:
        first = {seen.key: seen for seen in events[: len(start)]}
        for wanted in start:
            got = first.get(wanted.key)
            if got is None or got.body != wanted.body or got.type is not EventType.ADDED:
                yield f"{stream}: {wanted.key}@{wanted.revision} is not among the initial events"
                return
        events = events[len(start) :]
    last, place, rest = stream.after, 0, expected[len(start) :]
    for seen in events:
        if seen.type is EventType.BOOKMARK:
            if seen.revision < last:
                yield f"{stream}: a bookmark at {seen.revision} after {last}"
            missed = [wanted for wanted in rest[place:] if wanted.revision <= seen.revision]
            if missed:
                yield f"{stream}: a bookmark at {seen.revision} before {_brief(missed[0])}"
                return
            last = max(last, seen.revision)
            continue
        if seen.revision <= last:
            yield f"{stream}: {_brief(seen)} after {last}: repeated or out of order"
            return
        wanted_now = rest[place] if place < len(rest) else None
        if wanted_now is None or not _same(seen, wanted_now):
            yield f"{stream}: {_brief(seen)} instead of {_brief(wanted_now) if wanted_now else 'nothing'}"
            return
        last, place = seen.revision, place + 1
    missed = [wanted for wanted in rest[place:] if wanted.revision <= stream.complete_until]
    if missed:
        yield f"{stream}: {_brief(missed[0])} never came, though {stream.complete_until} was reached"


def _expected(stream: Stream, commits: list[Commit]) -> Iterator[Seen]:
    """The events of a watch; those up to its begin only as the objects that were there, by key."""
    state: dict[str, Commit] = {}
    begun = False
    for commit in commits:
        if commit.revision > stream.after and not begun:
            yield from _initial(stream, state)
            begun = True
        if not commit.key.startswith(stream.prefix):
            continue
        before = state.get(commit.key)
        event = _event(stream, commit, before)
        if commit.body is None:
            state.pop(commit.key, None)
        else:
            state[commit.key] = commit
        if begun and event is not None:
            yield event
    if not begun:
        yield from _initial(stream, state)


def _initial(stream: Stream, state: dict[str, Commit]) -> Iterator[Seen]:
    for key, commit in sorted(state.items()) if stream.initial else ():
        if commit.body is not None and _matches(stream, commit):
            yield Seen(EventType.ADDED, key, commit.revision, commit.body)


def _event(stream: Stream, commit: Commit, before: Commit | None) -> Seen | None:
    """What a commit is to a watcher that sees only some objects."""
    was = before is not None and _matches(stream, before)
    if commit.body is not None and _matches(stream, commit):
        return Seen(EventType.MODIFIED if was else EventType.ADDED, commit.key, commit.revision, commit.body)
    return Seen(EventType.DELETED, commit.key, commit.revision, b"") if was else None


def _matches(stream: Stream, commit: Commit) -> bool:
    return commit.body is not None and (stream.color is None or color_of(commit.body) == stream.color)


def _same(seen: Seen, wanted: Seen) -> bool:
    if seen[:3] != wanted[:3]:
        return False
    if seen.type is EventType.DELETED:  # its last state may be the writer's or the stored one
        return b'"resourceVersion":"%d"' % seen.revision in seen.body
    return seen.body == wanted.body


def _brief(event: Seen) -> str:
    return f"{event.type} {event.key}@{event.revision}"
