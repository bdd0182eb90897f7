"""Walks case files, runs them and counts.

Every case ends in exactly one of: passed, failed, excused (it differs on purpose), crashed (in the reference; we must
not), unsupported. What is unsupported is named and fails the run, unless it is listed as not yet supported. Excuses
above one hundredth of their topic are themselves a failure, and so is one that applies to cases of which none differs.
"""

import copy
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from karmada.testing.golden.case import Case, Failed, Record, Topic
from karmada.testing.golden.compare import shorten

EXCUSED_SHARE = 100
"""One in this many cases of a topic may be excused."""
_RAISED = "raised "
_NEAR = 3
"""Folders above a file that may name its topic; what is further up is where the cases happen to be kept."""


class CaseFileError(ValueError):
    """A file that holds no recorded cases; the message names it and the line."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One case that came out wrong, or one broken rule of the run."""

    id: str
    reason: str


@dataclass(slots=True)
class Report:
    """What happened; `failures` carry ids that are unique over the whole run."""

    passed: int = 0
    crashed: int = 0
    failures: list[Failure] = field(default_factory=list)
    unsupported: Counter[str] = field(default_factory=Counter)
    """Cases by topic or operation that nothing here can run."""
    excused: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Cases by topic and reason."""
    needless: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Cases to which an excuse applies and that do not differ."""

    @property
    def has_run(self) -> bool:
        return bool(self.passed or self.failures)


def run(path: Path, topics: Sequence[Topic], only: str = "", not_yet: Collection[str] = ()) -> Report:
    """Run a root of topic folders, one topic folder or one file; `only` picks a single case by its id. `not_yet` names
    folders and operations that may be unsupported."""
    report = Report()
    sizes: Counter[str] = Counter()
    for file in case_files(path):
        records = list(_records(file))
        topic = topic_of(file, records, topics)
        if topic is None:
            report.unsupported[_folder_name(file, path)] += len(records)
            continue
        sizes[topic.name] += len(records)
        _run_records(topic, file, records, report, only)
    for folder in _folders_without_cases(path):
        report.unsupported[folder] += 0
    if path.is_file():
        sizes = Counter({name: _topic_size(path) for name in sizes})
    _limit_excuses(report, sizes)
    if path.is_dir() and not only:
        _refuse_stale_excuses(report)
    for name, count in sorted(report.unsupported.items()):
        if count and name not in not_yet:
            report.failures.append(Failure(f"{name}/unsupported", f"nothing here runs its {count} cases"))
    return report


def case_files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.jsonl"))


def topic_of(file: Path, records: Iterable[Record], topics: Sequence[Topic]) -> Topic | None:
    """By the nearest folder that is named like a topic, else by the operations in the file."""
    by_name = {topic.name: topic for topic in topics}
    for folder in list(file.resolve().parents)[:_NEAR]:
        if folder.name in by_name:
            return by_name[folder.name]
    operations = {record.get("op", "") for record in records}
    return next((topic for topic in topics if operations & topic.operations.keys()), None)


def _records(file: Path) -> Iterator[Record]:
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise CaseFileError(f"{file}, line {number}: not JSON: {error}") from error
        if not isinstance(record, dict):
            raise CaseFileError(f"{file}, line {number}: a case must be an object")
        yield record


def _run_records(topic: Topic, file: Path, records: list[Record], report: Report, only: str) -> None:
    for record in records:
        case = topic.read(record)
        if only and case.id != only:
            continue
        operation = topic.operations.get(case.operation)
        if operation is None:
            report.unsupported[case.operation or topic.name] += 1
            continue
        found, id_ = difference(topic, case), f"{file.parent.name}/{file.stem}/{case.id}"
        if case.is_crash:
            if found and found.startswith(_RAISED):
                report.failures.append(Failure(id_, found))
            else:
                report.crashed += 1
            continue
        try:
            excuses = [excuse for excuse in topic.excuses if excuse.applies(case)]
        except Exception as defect:
            report.failures.append(Failure(id_, f"an excuse cannot be asked: {defect!r}"))
            continue
        if not found:
            report.passed += 1
            report.needless.update((topic.name, excuse.reason) for excuse in excuses)
        elif excuse := next((excuse for excuse in excuses if found.startswith(excuse.where)), None):
            report.excused[topic.name, excuse.reason] += 1
        else:
            report.failures.append(Failure(id_, found))


def difference(topic: Topic, case: Case) -> str | None:
    """How our outcome of a case differs from the recorded one; None when it does not."""
    try:
        # Operations may change what they are given, and an excuse must see what was given.
        actual = topic.operations[case.operation](copy.deepcopy(case.input) if topic.excuses else case.input)
    except Failed as failure:
        actual = {"error": str(failure)}
    except Exception as defect:
        return f"{_RAISED}{type(defect).__name__}: {shorten(str(defect))}"
    differences = [topic.compare(expected, actual) for expected in case.alternatives]
    return None if None in differences else differences[0]


def _folder_name(file: Path, path: Path) -> str:
    inside = file.relative_to(path).parts if path.is_dir() else ()
    return inside[0] if len(inside) > 1 else file.resolve().parent.name


def _folders_without_cases(path: Path) -> list[str]:
    if not path.is_dir():
        return []
    return [folder.name for folder in sorted(path.iterdir()) if folder.is_dir() and not any(folder.rglob("*.jsonl"))]


def _topic_size(file: Path) -> int:
    return sum(len(list(_records(sibling))) for sibling in case_files(file.parent))


def _refuse_stale_excuses(report: Report) -> None:
    for name, reason in sorted(report.needless.keys() - report.excused.keys()):
        report.failures.append(Failure(f"{name}/excuses", f"no case differs any more of those excused by: {reason}"))


def _limit_excuses(report: Report, sizes: Counter[str]) -> None:
    excused: Counter[str] = Counter()
    for (name, _), count in report.excused.items():
        excused[name] += count
    for name, count in sorted(excused.items()):
        if count * EXCUSED_SHARE > sizes[name]:
            report.failures.append(Failure(f"{name}/excuses", f"{count} of {sizes[name]} cases excused, over 1 %"))
