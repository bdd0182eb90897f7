"""The tunnel: frames survive any cutting, streams neither mix nor starve each other, and end with the connection."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.membership.tunnel.frames import Decoder, Frame, FrameError, Kind, encode
from karmada.membership.tunnel.multiplexer import WINDOW, Multiplexer, Stream, TunnelBroken
from karmada.membership.tunnel.tunnels import Tunnels


class Pipe:
    """One end of a connection in memory (`Channel`)."""

    def __init__(self) -> None:
        self._arrived: asyncio.Queue[bytes] = asyncio.Queue()
        self.other: Pipe | None = None
        self.closed = False

    async def read(self) -> bytes:
        return b"" if self.closed and self._arrived.empty() else await self._arrived.get()

    async def write(self, data: bytes) -> None:
        assert self.other is not None
        if self.closed or self.other.closed:
            raise ConnectionError("closed")
        self.other._arrived.put_nowait(data)
        await asyncio.sleep(0)

    async def close(self) -> None:
        for end in (self, self.other):
            assert end is not None
            end.closed = True
            end._arrived.put_nowait(b"")


def pipe() -> tuple[Pipe, Pipe]:
    one, other = Pipe(), Pipe()
    one.other, other.other = other, one
    return one, other


frames = st.lists(
    st.builds(Frame, st.integers(0, 2**32 - 1), st.sampled_from(Kind), st.binary(max_size=300)), max_size=20
)


@given(frames, st.lists(st.integers(1, 50)))
def test_frames_are_the_same_however_the_bytes_are_cut(sent: list[Frame], cuts: list[int]) -> None:
    data = b"".join(encode(frame) for frame in sent)
    decoder, received = Decoder(), []
    for cut in [*cuts, len(data)]:
        received += list(decoder.feed(data[:cut]))
        data = data[cut:]
    assert received == sent


@given(st.binary(min_size=8, max_size=8).filter(lambda data: data[4] not in range(1, 7) or data[5] != 0))
def test_bytes_that_are_no_frame_are_refused(data: bytes) -> None:
    with pytest.raises(FrameError):
        list(Decoder().feed(data))


async def echo(stream: Stream) -> None:
    while data := await stream.read():
        await stream.write(data)


async def test_streams_carry_their_own_bytes_side_by_side() -> None:
    one, other = pipe()
    opener, accepter = Multiplexer(one), Multiplexer(other, echo)
    tasks = [asyncio.create_task(opener.run()), asyncio.create_task(accepter.run())]

    async def talk(number: int) -> None:
        stream = await opener.open()
        wanted = bytes([number]) * 300_000
        sending = asyncio.create_task(stream.write(wanted))
        received = b""
        while len(received) < len(wanted):
            received += await stream.read()
        await sending
        await stream.close()
        assert received == wanted

    await asyncio.gather(*(talk(number) for number in range(20)))
    await opener.close()
    await asyncio.gather(*tasks)


async def test_a_stream_nobody_reads_stops_its_writer_and_no_other() -> None:
    one, other = pipe()
    stuck = asyncio.Event()

    async def serve(stream: Stream) -> None:
        if await stream.read() == b"stuck":
            await stuck.wait()
        else:
            await stream.write(b"fine")

    opener, accepter = Multiplexer(one), Multiplexer(other, serve)
    tasks = [asyncio.create_task(opener.run()), asyncio.create_task(accepter.run())]
    first = await opener.open()
    await first.write(b"stuck")
    writing = asyncio.create_task(first.write(b"x" * (4 * WINDOW)))
    second = await opener.open()
    await second.write(b"hello")
    assert await asyncio.wait_for(second.read(), 5) == b"fine"
    assert not writing.done()
    await opener.close()
    with pytest.raises(TunnelBroken):
        await writing
    stuck.set()
    await asyncio.gather(*tasks)


async def test_a_newer_tunnel_takes_the_place_of_the_last_one() -> None:
    tunnels = Tunnels()
    ends = [pipe() for _ in range(2)]
    serving = []
    for mine, theirs in ends:
        serving.append(asyncio.create_task(tunnels.serve("m1", mine)))
        serving.append(asyncio.create_task(Multiplexer(theirs, echo).run()))
        await asyncio.sleep(0.01)
    stream = await tunnels.open("m1")
    await stream.write(b"hello")
    assert await stream.read() == b"hello"
    await ends[1][0].close()
    await asyncio.gather(*serving)
    assert not tunnels.has("m1")
    with pytest.raises(TunnelBroken, match="cluster m1 has no tunnel"):
        await tunnels.open("m1")


async def drained(stream: Stream) -> None:
    while await stream.read():
        pass


@pytest.mark.parametrize(
    "frames",
    [
        [Frame(7, Kind.OPEN)],
        [Frame(1, Kind.CREDIT, b"\xff" * 4)],
        [Frame(1, Kind.CREDIT, b"\xff" * 60_000)],
        [Frame(1, Kind.DATA)],
        [Frame(1, Kind.DATA, b"x" * 60_000)] * (WINDOW // 60_000 + 1),
    ],
    ids=["opens a stream", "a large credit", "an endless credit", "nothing", "more than its window"],
)
async def test_an_agent_that_breaks_the_rules_loses_its_tunnel(frames: list[Frame]) -> None:
    mine, theirs = pipe()
    control_plane = Multiplexer(mine)
    running = asyncio.create_task(control_plane.run())
    stream = await control_plane.open()
    for frame in frames:
        await theirs.write(encode(frame))
    await asyncio.wait_for(running, 5)
    assert not control_plane.is_open
    with pytest.raises(ConnectionError):
        await drained(stream)


async def test_what_an_agent_sends_on_closed_streams_is_not_kept() -> None:
    mine, theirs = pipe()
    control_plane = Multiplexer(mine)
    running = asyncio.create_task(control_plane.run())
    streams = [await control_plane.open() for _ in range(20)]
    for stream in streams:
        await stream.close()
    for stream in streams:
        for _ in range(WINDOW // 60_000):
            await theirs.write(encode(Frame(stream.number, Kind.DATA, b"x" * 60_000)))
    await theirs.write(encode(Frame(0, Kind.PING)))
    decoder = Decoder()
    answered = False
    while not answered:
        answered = any(frame.kind is Kind.PONG for frame in decoder.feed(await theirs.read()))
    assert sum(len(stream._arrived) for stream in streams) == 0
    await control_plane.close()
    await theirs.close()
    await asyncio.gather(running)


async def test_a_flood_of_pings_is_answered_with_a_trickle() -> None:
    mine, theirs = pipe()
    control_plane = Multiplexer(mine)
    running = asyncio.create_task(control_plane.run())
    await theirs.write(encode(Frame(0, Kind.PING)) * 8000)
    stream = await control_plane.open()
    decoder, kinds = Decoder(), []
    while Kind.OPEN not in kinds:
        kinds += [frame.kind for frame in decoder.feed(await theirs.read())]
    await stream.close()
    await theirs.close()
    await control_plane.close()
    await asyncio.gather(running)
    assert kinds.count(Kind.PONG) <= 2
