"""How much a server may send, and how fast, before it counts as misbehaving: all limits of clients in one place.

A member cluster is not trusted: whatever it sends is bounded before it is kept, decoded or copied into the control
plane. The limits leave a factor of two or more above what a conformant API server can be made to send.
"""

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

FRAMING: Final = 64 * KIB
"""Bytes without a complete head or a byte of body: headers, chunk sizes, trailers. Kubernetes' own clients take 10 MiB
of headers from anybody; its servers send less than 4 KiB."""
PIECES: Final = 1024
PIECE: Final = 32
"""From so many parts of a body on, they must have so many bytes on average: a part costs as much as a kilobyte."""
ANSWER: Final = 16 * MIB
"""One answer. An object has at most 3 MiB (the API server's limit of a request), a page of 500 usual objects 5 MiB;
pages of larger objects are asked for again with fewer of them."""
REFUSAL: Final = 256 * KIB
"""An answer that is no success: a Status, or a proxy's error page."""
MESSAGE: Final = 4096
"""Characters of a refusal's message."""
BUFFERED: Final = 64 * MIB
"""All incomplete answers and watch lines of one server together: 64 requests are under way at a time."""
WATCH_LINE: Final = 4 * MIB
"""One watch event: an object of 3 MiB and its envelope."""
STREAM_BUFFER: Final = 512 * KIB
"""Bytes of a stream that may wait for their reader before the server is made to wait."""
WATCH_BATCH: Final = 100
"""Events that are handled before others get their turn: some milliseconds of work."""
WATCH_EVENT: Final = 4 * KIB
"""Bytes up to which an event counts for one, larger ones for more: parsing a KiB takes 6 µs, the rest of the work on an
event as long as 4 KiB."""
WATCH_BURST: Final = 20_000
"""Events that all watches of a member may bring at once: about a second of work."""
WATCH_RATE: Final = 5_000
"""Events a second beyond that: a fifth of a processor. A member that sends more is read more slowly; the pods of a
cluster with 5,000 nodes are loaded in half a minute, and change a thousand times a second."""
SLICE: Final = 500
"""Objects of a page that are read before others get their turn."""

CACHE: Final = 256 * MIB
"""All objects that are kept of one member: 240,000 trimmed pods, more than Kubernetes supports in a cluster."""
ITEM_OVERHEAD: Final = 512
"""What an object costs beside its bytes."""

PAGES: Final = 200
"""From so many pages of a list on, they must have two objects on average."""
DISCOVERY: Final = 4 * MIB
"""One discovery document; one of 1,000 CRDs has 0.5 MiB."""
RESOURCES: Final = 10_000
"""Resources that a server may list in discovery, in as many group versions as there are."""

STATUS: Final = 256 * KIB
"""What is reported of the objects of one Work. The Work and its binding are stored in objects of at most 1.5 MiB."""
REPORTED_TEXT: Final = 1024
"""Characters of a member's words in a condition or an event."""
COUNTED: Final = 16 * KIB
"""What is kept of a node or a pod to count it: a pod of 30 containers has 3 KiB."""
SUMMARY: Final = 64 * KIB
"""The summary of a cluster's resources: hundreds of kinds of devices."""
ENABLEMENTS: Final = 1 * MIB
"""The list of what a cluster serves; the Cluster is stored as an object of at most 1.5 MiB."""


def printable(text: str, limit: int = REPORTED_TEXT) -> str:
    """Text from elsewhere, fit for logs, terminals and conditions: short, and no control characters but line ends."""
    cut = text[:limit]
    if not cut.isprintable():
        cut = "".join(letter if letter.isprintable() or letter in "\n\t" else "\ufffd" for letter in cut)
    return cut if len(text) <= limit else f"{cut}... ({len(text)} characters)"
