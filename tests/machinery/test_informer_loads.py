"""First and repeated loads of informers: retried, bounded, and never older than what was seen."""

import asyncio
from random import Random

import pytest
from tests.machinery.informers import CONFIG_MAPS, config_map, settle, start

from karmada.machinery.codec import TREE
from karmada.machinery.errors import BadAnswer, BadRequest, Gone, ServerError, Timeout, Unavailable
from karmada.machinery.informers.cache import STEP, Room
from karmada.machinery.informers.informer import Informer
from karmada.machinery.informers.reflector import FIRST_TURN
from karmada.machinery.workqueue.initial_load import turns
from karmada.testing.loop import VirtualClock, run_virtual

FUTURE = {"details": {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}}


def test_a_forgotten_revision_means_a_new_load_that_yields_only_differences(server):
    async def main():
        for name in ("same", "changed", "gone", "recreated"):
            server.put(CONFIG_MAPS, config_map(name))
        informer, seen, _ = start(server)
        await informer.synced()
        seen.clear()
        server.streams, cut = [], server.streams
        server.put(CONFIG_MAPS, config_map("changed", x="1"))
        server.remove(CONFIG_MAPS, "gone", "default")
        server.remove(CONFIG_MAPS, "recreated", "default")
        server.put(CONFIG_MAPS, config_map("recreated"))
        server.put(CONFIG_MAPS, config_map("new"))
        server.compact()
        server.streams = cut
        server.cut()
        await settle()
        assert informer.reflector.loads == 2
        assert sorted(seen) == [
            ("add", "new"),
            ("add", "recreated"),
            ("delete", "gone"),
            ("delete", "recreated"),
            ("update", "changed"),
        ]

    run_virtual(main)


def test_a_server_that_answers_410_for_ever_is_not_hammered(server):
    async def main():
        informer, _, _ = start(server)
        await informer.synced()
        before = len(server.requests)
        server.failures = [Gone("too old")] * 10_000
        server.cut(Gone("too old"))
        await asyncio.sleep(600)
        assert len(server.requests) - before < 40

    run_virtual(main)


def test_a_load_older_than_what_was_seen_is_refused(server):
    async def main():
        server.put(CONFIG_MAPS, config_map("a"))
        informer, seen, _ = start(server)
        await informer.synced()
        seen.clear()
        server.put(CONFIG_MAPS, config_map("b"))
        await settle()
        real, server.revision = server.revision, 100
        del server.objects[CONFIG_MAPS, "default", "b"]
        server.cut(Gone("compacted"))
        await asyncio.sleep(5)
        assert informer.get("b", "default") is not None
        assert isinstance(informer.reflector.failure, Unavailable)
        server.revision = real + 1
        await settle()
        assert informer.get("b", "default") is None

    run_virtual(main)


@pytest.mark.parametrize(
    "error", [Gone("compacted"), Timeout("the future", FUTURE), None], ids=["gone", "future", "silence"]
)
def test_a_server_that_was_restored_from_a_backup_is_believed_in_the_end(server, error):
    async def main():
        server.put(CONFIG_MAPS, config_map("a"))
        server.put(CONFIG_MAPS, config_map("b"))
        informer, seen, _ = start(server)
        await informer.synced()
        seen.clear()
        del server.objects[CONFIG_MAPS, "default", "b"]
        server.history.clear()
        server.revision = 50
        server.put(CONFIG_MAPS, config_map("a", restored="yes"))
        for _ in range(2):
            server.cut(error)
            await asyncio.sleep(15)
        assert seen == []
        await settle()
        assert seen == [("delete", "b"), ("update", "a")]
        server.put(CONFIG_MAPS, config_map("c"))
        await settle()
        assert seen[2:] == [("add", "c")]

    run_virtual(main)


def test_the_first_load_is_retried_until_it_works(server):
    async def main():
        server.put(CONFIG_MAPS, config_map("a"))
        server.failures = [ServerError("boom"), Unavailable("down"), Gone("odd")]
        informer, seen, _ = start(server)
        await informer.synced()
        assert seen == [("add", "a", "initial")]

    run_virtual(main)


def test_a_server_that_takes_a_streaming_list_for_a_plain_watch_is_listed(server):
    async def main():
        class Old:
            def __getattr__(self, name):
                return getattr(server, name)

            def watch(self, request):
                params = {name: value for name, value in request.params.items() if name != "sendInitialEvents"}
                params.setdefault("resourceVersion", str(server.revision))
                return server.watch(request._replace(params=params))

        server.put(CONFIG_MAPS, config_map("a"))
        informer, seen, _ = start(Old())
        await asyncio.sleep(61)
        assert seen == [("add", "a", "initial")]
        server.put(CONFIG_MAPS, config_map("b"))
        await asyncio.sleep(1)
        assert len(informer) == 2

    run_virtual(main)


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming list", "paged list"])
def test_a_load_that_does_not_fit_is_refused_and_what_is_there_stays(server, streaming):
    async def main():
        server.streaming_lists = streaming
        server.put(CONFIG_MAPS, config_map("a"))
        room = Room(20_000)
        informer, seen, task = start(server, room=room)
        await informer.synced()
        kept = room.used
        assert 0 < kept < 20_000
        for number in range(100):
            server.put(CONFIG_MAPS, config_map(f"m{number:03}", a="x" * 1000))
        await settle()
        assert isinstance(informer.reflector.failure, BadAnswer)
        assert "a" in {key.name for key in (item.key for item in informer.all_items())}
        assert room.used <= 20_000
        assert len(seen) == len(informer)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert room.used == 0

        informer, _, task = start(server, room=room)
        await settle()
        assert not informer.has_synced
        assert isinstance(informer.reflector.failure, BadAnswer)
        assert room.used == 0
        task.cancel()

    run_virtual(main)


class EndlessPages:
    """A server whose lists never end, and that has no streaming ones."""

    def __init__(self):
        self.pages = 0

    async def send(self, request):
        self.pages += 1
        await asyncio.sleep(0)
        return b'{"items":[],"metadata":{"resourceVersion":"5","continue":"more"}}'

    def watch(self, request):
        raise BadRequest("no streaming lists")


def test_a_load_whose_pages_never_end_fails():
    async def main():
        endless = EndlessPages()
        informer, _, task = start(endless)
        await asyncio.sleep(0.1)
        assert isinstance(informer.reflector.failure, BadAnswer)
        assert endless.pages < 1000
        task.cancel()

    run_virtual(main)


def test_a_large_load_leaves_turns_for_others(server):
    async def main():
        for count in range(5000):
            server.put(CONFIG_MAPS, config_map(f"m{count:05}"))
        sizes = []
        informer = Informer(server, CONFIG_MAPS, TREE, clock=VirtualClock(), random=Random(1))
        informer.add_handler(lambda changes: sizes.append(len(changes)))
        task = asyncio.get_running_loop().create_task(informer.run())
        await informer.synced()
        assert sum(sizes) == 5000
        assert max(sizes) <= STEP
        task.cancel()

    run_virtual(main)


async def _rounds_until_synced(informer):
    rounds = 0
    while not informer.has_synced:
        await asyncio.sleep(0)
        rounds += 1
    return rounds


def test_a_large_load_from_a_member_leaves_the_loop_to_others(server):
    async def main():
        for number in range(20 * FIRST_TURN):
            server.put(CONFIG_MAPS, config_map(f"c{number}"))
        informer, _, _ = start(server, room=Room())
        assert await _rounds_until_synced(informer) >= 10

    run_virtual(main)


def test_a_load_does_not_wait_for_keys_that_loads_have_found(server):
    async def work():
        while True:
            await turns().next()

    async def main():
        for number in range(20 * FIRST_TURN):
            server.put(CONFIG_MAPS, config_map(f"c{number}"))
        alone = await _rounds_until_synced(start(server, room=Room())[0])
        workers = [asyncio.create_task(work()) for _ in range(100)]
        assert await _rounds_until_synced(start(server, room=Room())[0]) <= 2 * alone
        for worker in workers:
            worker.cancel()

    run_virtual(main)


def test_the_control_planes_own_collections_are_loaded_in_as_few_rounds_as_batches_come(server):
    async def main():
        for number in range(20 * FIRST_TURN):
            server.put(CONFIG_MAPS, config_map(f"c{number}"))
        assert await _rounds_until_synced(start(server)[0]) < 10

    run_virtual(main)
