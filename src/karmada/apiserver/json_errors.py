"""What is wrong with a text that is no JSON."""

import json


def syntax_error(body: bytes) -> str:
    """What the reference's decoder says of malformed JSON, for the common mistakes."""
    text = body.decode(errors="replace")
    if not text.strip():
        return "unexpected end of JSON input"
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            return "unexpected end of JSON input"
        character = text[error.pos]
        where = {
            "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
            "Expecting ':' delimiter": "after object key",
            "Expecting ',' delimiter": "after object key:value pair" if "{" in text else "after array element",
            "Extra data": "after top-level value",
        }.get(error.msg.removeprefix("Illegal trailing comma before end of object"), "looking for beginning of value")
        return f"invalid character '{character}' {where}"
    except ValueError:
        return "a number is too long"
    except RecursionError:
        return "exceeded max depth"
    return "invalid UTF-8 in string"
