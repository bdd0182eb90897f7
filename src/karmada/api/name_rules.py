"""What Kubernetes accepts as names, label keys and label values.

Each function returns the complaints, none when the text is fine. The wording is part of the API: clients show it and
tests of other projects compare it.
"""

import re

_LABEL_PART = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_LABEL_PART})?"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = f"{_DNS_LABEL}(\\.{_DNS_LABEL})*"
_DNS_1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"

_label_part = re.compile(_LABEL_PART)
_label_value = re.compile(_LABEL_VALUE)
_dns_label = re.compile(_DNS_LABEL)
_dns_subdomain = re.compile(_DNS_SUBDOMAIN)
_dns_1035_label = re.compile(_DNS_1035_LABEL)

_ENDS = "and must start and end with an alphanumeric character"
# Almost all keys look like this; they need no closer look.
_usual_key = re.compile(f"(?=.{{1,63}}$)({_DNS_SUBDOMAIN}/)?{_LABEL_PART}", re.ASCII)


def label_key(text: str) -> list[str]:
    """`name` or `dns.prefix/name`, for labels, annotations and finalizers alike."""
    if _usual_key.fullmatch(text):
        return []
    rule = _pattern(f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}", _LABEL_PART, *_KEY_EXAMPLES)
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        suffix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {rule} {suffix}"]
    problems = []
    if slash:
        found = dns_subdomain(prefix, unit="bytes") if prefix else ["must be non-empty"]
        problems += [f"prefix part {problem}" for problem in found]
    if not name:
        problems.append("name part must be non-empty")
    elif _size(name) > 63:
        problems.append("name part must be no more than 63 bytes")
    if not _label_part.fullmatch(name):
        problems.append(f"name part {rule}")
    return problems


def label_value(text: str) -> list[str]:
    if len(text) < 64 and _label_value.fullmatch(text):
        return []
    sentence = f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
    rule = _pattern(sentence, _LABEL_VALUE, "MyValue", "my_value", "12345")
    return _limited(text, 63, "bytes") + ([] if _label_value.fullmatch(text) else [rule])


def dns_label(text: str) -> list[str]:
    """One part of a DNS name: namespaces, ports, containers."""
    if len(text) < 64 and _dns_label.fullmatch(text):
        return []
    problems = _limited(text, 63)
    if not _dns_label.fullmatch(text):
        sentence = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
        dots_only = _dns_subdomain.fullmatch(text)
        rule = _pattern(sentence, _DNS_LABEL, "my-name", "123-abc")
        problems.append("must not contain dots" if dots_only else rule)
    return problems


def dns_subdomain(text: str, unit: str = "characters") -> list[str]:
    """A DNS name: what most objects are called. The limit is in bytes; `unit` is what the complaint calls them."""
    if len(text) < 254 and _dns_subdomain.fullmatch(text):
        return []
    sentence = f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}"
    rule = _pattern(sentence, _DNS_SUBDOMAIN, "example.com")
    return _limited(text, 253, unit) + ([] if _dns_subdomain.fullmatch(text) else [rule])


def is_host(text: str) -> bool:
    """Whether a certificate can be for it: an address, or a name whose first label may be `*`."""
    from ipaddress import ip_address

    try:
        ip_address(text)
    except ValueError:
        return not dns_subdomain(text.removeprefix("*."))
    return True


def dns_1035_label(text: str) -> list[str]:
    """The older rule for one part of a DNS name, which may not start with a digit: services."""
    if len(text) < 64 and _dns_1035_label.fullmatch(text):
        return []
    sentence = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
        "start with an alphabetic character, and end with an alphanumeric character"
    )
    rule = _pattern(sentence, _DNS_1035_LABEL, "my-name", "abc-123")
    return _limited(text, 63) + ([] if _dns_1035_label.fullmatch(text) else [rule])


_KEY_EXAMPLES = ("MyName", "my.name", "123-abc")


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _limited(text: str, limit: int, unit: str = "characters") -> list[str]:
    return [f"must be no more than {limit} {unit}"] if _size(text) > limit else []


def _pattern(sentence: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{sentence} (e.g. {shown}regex used for validation is '{pattern}')"
