"""Command line: `python -m karmada.testing.differential [--oracle COMMAND] [--topic NAME] [--seed N] [--count N]`.

Exit status: 0 no difference that nobody wants, 1 some, 2 nothing could be compared.
"""

import argparse
import secrets
import sys
from pathlib import Path

import orjson

from karmada.testing.differential.generator import DEFAULT, Generator, GeneratorMissing
from karmada.testing.differential.oracle import Oracle, OracleError
from karmada.testing.differential.run import Comparison, Outcome
from karmada.testing.golden.__main__ import main as compare_recorded
from karmada.testing.golden.topics import TOPICS

RECORDED = Path("../shared/golden/random")
KUBE = "kube"
"""The topic whose reference is a stock kube-apiserver; it needs no oracle, and `count` is a number of requests."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m karmada.testing.differential", description="Ask the reference.")
    parser.add_argument("--oracle", default="", help="program that answers for the reference, with its flags")
    parser.add_argument("--topic", default="", help="one topic; all if absent")
    parser.add_argument("--seed", type=int, default=None, help="a fresh one if absent")
    parser.add_argument("--count", type=int, default=500, help="inputs per topic")
    parser.add_argument("--rounds", type=int, default=2, help="processes of the oracle that must agree")
    parser.add_argument("--show", type=int, default=3, help="differences per topic that are minimised and printed")
    parser.add_argument("--generator", type=Path, default=DEFAULT, help="folder of the generator of inputs")
    parser.add_argument("--recorded", type=Path, default=RECORDED, help="answers to compare with without an oracle")
    parser.add_argument(
        "--kubeconfig", type=Path, default=None, help="kube: an administrator of a running stock server"
    )
    parser.add_argument("--keep", type=Path, default=None, help="kube: where to append differences as transcripts")
    parser.add_argument("--scenario", default="", help="kube: one sort of transcripts instead of the mix")
    options = parser.parse_args(arguments)
    if options.topic == KUBE:
        from karmada.testing.differential.kube.report import report

        return report(options.seed, options.count, options.show, options.kubeconfig, options.keep, options.scenario)
    if not options.oracle:
        say(f"no oracle given: comparing with the answers recorded in {options.recorded}")
        return compare_recorded([str(options.recorded / options.topic)])
    try:
        generator = Generator(options.generator)
        if options.topic and options.topic not in generator.topics:
            parser.error(f"no topic {options.topic!r}; there are {', '.join(generator.topics)}")
        comparison = Comparison(Oracle(options.oracle, options.rounds), TOPICS)
        seed = secrets.randbelow(10**6) if options.seed is None else options.seed
        outcomes = []
        for topic in [options.topic] if options.topic else generator.topics:
            outcomes.append(comparison.run(generator, topic, seed, options.count, options.show))
            describe(outcomes[-1])
    except (GeneratorMissing, OracleError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    say(table(outcomes))
    if not any(outcome.compared for outcome in outcomes):
        return 2
    return 1 if any(outcome.differing for outcome in outcomes) else 0


def say(text: str) -> None:
    """One more line of the report."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def describe(outcome: Outcome) -> None:
    """What is worth reading before the table."""
    for one in outcome.shown:
        say(f"DIFFERS {one.id}: {one.reason}\n  {orjson.dumps(one.request).decode()}")
    for reason, count in outcome.known.most_common():
        say(f"known: {count} in {outcome.topic}: {reason}")
    for reason, count in outcome.left_out.most_common():
        say(f"left out: {count} in {outcome.topic}: {reason}")


def table(outcomes: list[Outcome]) -> str:
    """Topic, inputs, differences, as Markdown."""
    lines = ["| topic | seed | inputs | differences | known and wanted |", "|---|---:|---:|---:|---:|"]
    lines += [f"| {o.topic} | {o.seed} | {o.compared} | {o.differing} | {o.known.total()} |" for o in outcomes]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
