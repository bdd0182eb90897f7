"""A supervised process for tests: it says a few lines and that it is ready, and waits to be ended."""

import os
import signal
import sys

from karmada.standalone.children import report_ready


def end(*_: object) -> None:
    print("no way to go on", flush=True)
    sys.exit(7)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, end)
    for number in range(1, 6):
        print(f"line {number} of {os.getpid()}", flush=True)
    report_ready(int(sys.argv[-1]), pid=os.getpid())
    while True:
        signal.pause()
