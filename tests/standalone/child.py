"""A supervised process for tests: it says that it is ready and waits to be ended."""

import os
import signal
import sys

from karmada.standalone.children import report_ready

if __name__ == "__main__":
    report_ready(int(sys.argv[-1]), pid=os.getpid())
    signal.pause()
