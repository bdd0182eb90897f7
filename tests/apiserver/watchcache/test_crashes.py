"""Nothing acknowledged is lost when the process is killed, and watches go on without gap or repeat."""

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest

from karmada.apiserver.storage.base import Change, Compacted
from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.apiserver.watchcache import Index, WatchCache

KIND = ("", "configmaps")
CHILD = Path(__file__).with_name("crashing_store.py")


def _run_until_killed(file: Path, seed: int, lines: int) -> list[list[str]]:
    """What the child said before it was killed, somewhere after this many lines."""
    with subprocess.Popen([sys.executable, str(CHILD), str(file), str(seed)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        output = [child.stdout.readline() for _ in range(lines)]
        child.kill()
        output += child.stdout.readlines()
    return [line.decode().split() for line in output if line.endswith(b"\n")]


async def _history(storage: SqliteStorage, after: int, until: int) -> list[Change]:
    found: list[Change] = []
    while batch := await storage.history("", found[-1].revision if found else after, until):
        found += batch
    return found


@pytest.mark.parametrize("seed", range(3))
async def test_a_killed_store_keeps_what_it_acknowledged(tmp_path: Path, seed: int) -> None:
    file, chance = tmp_path / "store.db", random.Random(seed)
    for round in range(4):
        output = await asyncio.to_thread(_run_until_killed, file, seed * 10 + round, chance.randint(1, 600))
        start = int(output[0][1])
        acknowledged = {
            name: (int(revision), text) for what, name, revision, text in (s for s in output if s[0] == "ack")
        }
        saw = [int(words[2]) for words in output if words[0] == "saw"]
        assert saw == sorted(set(saw))

        storage = SqliteStorage(file)
        store = WatchCache(storage, lambda kind, body: Index("", {}, (), {}))
        await store.start()
        for name, (revision, text) in acknowledged.items():
            item = store.get(KIND, "ns", name)
            if item is not None and item.revision == revision:
                assert item.body == b'{"metadata":{"resourceVersion":"%d"},"text":"%b"}' % (revision, text.encode())
            elif item is not None:
                assert item.revision > revision
            else:
                assert text == "-" or any(
                    change.revision > revision and change.key.endswith(f"/{name}")
                    for change in await _history(storage, revision, store.revision)
                )

        last = saw[-1] if saw else start
        later = await _history(storage, last, store.revision)
        with store.watch(KIND, after=last) as watcher:
            resumed: list[int] = []
            while len(resumed) < len(later):
                resumed += [event.item.revision for event in await asyncio.wait_for(anext(watcher), 5)]
        assert resumed == [change.revision for change in later]
        try:
            whole = await _history(storage, start, store.revision)
        except Compacted as error:
            known = [revision for revision in saw if revision > error.oldest]
            whole = await _history(storage, error.oldest, store.revision)
        else:
            known = saw
        assert [change.revision for change in whole] == known + resumed
        await store.stop()
