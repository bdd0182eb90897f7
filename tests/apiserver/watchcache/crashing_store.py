"""A process that writes and watches until it is killed: `crashing_store.py FILE SEED`.

Prints a line for each acknowledged write (`ack KEY REVISION TEXT`, text `-` for a deletion) and for each event its
watcher saw (`saw KEY REVISION`).
"""

import asyncio
import os
import random
import sys
from pathlib import Path

from karmada.apiserver.storage.base import Mismatch, Value
from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.apiserver.watchcache import Index, WatchCache

KIND = ("", "configmaps")


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def value(text: str) -> Value:
    return Value(b'{"metadata":{"resourceVersion":"', b'"},"text":"%b"}' % text.encode())


async def write(store: WatchCache, chance: random.Random, author: int) -> None:
    for number in range(1_000_000):
        name, text = f"n{chance.randrange(12)}", f"{author}.{number}"
        old = store.get(KIND, "ns", name)
        try:
            if old is not None and chance.random() < 0.3:
                revision = await store.delete(KIND, "ns", name, value(text), old.revision)
                say("ack", name, revision, "-")
            else:
                index = Index("", {}, (), {})
                item = await store.update(KIND, "ns", name, value(text), index, old.revision if old else 0)
                say("ack", name, item.revision, text)
        except Mismatch:
            continue


async def watch(store: WatchCache) -> None:
    async for events in store.watch(KIND, after=store.revision):
        for event in events:
            say("saw", event.item.name, event.item.revision)


async def compact(store: WatchCache, storage: SqliteStorage) -> None:
    while True:
        await asyncio.sleep(0.02)
        await storage.compact(store.revision - 200)


async def main() -> None:
    storage = SqliteStorage(Path(sys.argv[1]))
    store = WatchCache(storage, lambda kind, body: Index("", {}, (), {}))
    await store.start()
    say("start", store.revision)
    chance = random.Random(int(sys.argv[2]))
    writers = (write(store, chance, author) for author in range(6))
    await asyncio.gather(watch(store), compact(store, storage), *writers)


asyncio.run(main())
