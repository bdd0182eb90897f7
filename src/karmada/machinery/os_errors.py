"""Errors of the operating system as parts of sentences: its words, without its numbers."""

import os
import re

_WORDS_OF_ASYNCIO = ("call failed", "error while attempting")
_NUMBER = re.compile(r"\[Errno (-?\d+)\] ")


def spelled(error: BaseException) -> str:
    """What went wrong; what was not raised by the operating system says that itself."""
    text = str(error)
    numbers = _NUMBER.findall(text)
    if not numbers:
        return text
    if not isinstance(error, OSError) or not (error.strerror or text.startswith("Multiple exceptions")):
        return _NUMBER.sub("", text)
    if error.strerror is None or any(words in error.strerror for words in _WORDS_OF_ASYNCIO):
        # With addresses, which the sentence around has already; one number for each address that was tried.
        return ", ".join(dict.fromkeys(os.strerror(int(number)) for number in numbers))
    return f"{os.fsdecode(error.filename)}: {error.strerror}" if error.filename else error.strerror
