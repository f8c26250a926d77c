"""Try to make the scanner slow: 100,000 characters in several hundred shapes, each made to hurt.

    python -m benchmarks.redos [--size 100000] [--limit 50] [--top 10]

Every rule is attacked with repeated prefixes of its own examples, plain (so that places look alike)
and numbered (so that no two do), beside shapes that aim at Unicode folding, at the decoders, at the
splitting into words and at the statistical stage. Times are CPU times, the best of up to twelve runs: the
question is what the code costs, not what else the machine does. Exit 1 if a shape is over the limit.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from gitmem.safety.rules import Rule
from gitmem.safety.scanner import Scanner


def shapes(rules: tuple[Rule, ...], size: int) -> Iterator[tuple[str, str]]:
    """Hostile texts of a given length, each with a name."""
    for rule in rules:
        yield from _against(rule, size)
    everything = " ".join(example for rule in rules for example in rule.match)
    yield "all examples", _fill(everything + " ", size)
    words = sorted({anchor.rstrip("*") for rule in rules for anchor in (*rule.anchors, *rule.need)})
    yield "all anchors", _fill(" ".join(words) + " ", size)
    rng = random.Random(3)
    yield "all anchors, shuffled", " ".join(rng.choices(words, k=size // 6))[:size]
    yield (
        "pairs of anchors",
        _numbered(lambda n: f"{words[n % len(words)]} {words[n * 7 % len(words)]} {n} ", size),
    )
    yield from _general(size)


def _against(rule: Rule, size: int) -> Iterator[tuple[str, str]]:
    for number, example in enumerate(rule.match[:2]):
        for share in (0.4, 0.75, 1.0):
            prefix = example[: max(3, int(len(example) * share))]
            if share == 1.0:
                prefix = example[:-1]
            yield f"{rule.id} example {number} {share:.0%} repeated", _fill(prefix + " ", size)
        # Without its last word an example nearly matches; a number makes every place another one.
        almost = example.rsplit(" ", 1)[0]
        yield f"{rule.id} example {number} numbered", _numbered(partial(_with_number, almost), size)
    anchor = rule.anchors[0].rstrip("*")
    need = rule.need[0].rstrip("*") if rule.need else ""
    yield f"{rule.id} anchors and needs", _numbered(lambda n: f"{anchor} {n} {need} ", size)
    yield (
        f"{rule.id} anchor and blanks",
        _numbered(lambda n: f"{anchor}{' ' * (n % 5)}.{' ' * (n % 3)}", size),
    )


def _general(size: int) -> Iterator[tuple[str, str]]:
    rng = random.Random(5)
    letters = "abcdefghijklmnopqrstuvwxyz"
    for text in (
        "a", "A", " ", "\n", "\t", "a ", "a\n", ".", "-", "_", "a_", "a.b ", "%", "%41", "%4", "&#65;", "&#x41;", "&lt;",
        "&", "\\x41", "\\u0041", "\\", "A1b2C3d4E5f6G7h8 ", "0123456789abcdef", "41 42 ", "ab-\n", "i g n o r e ", "i.g.n.",
        "i  g  ", "a]b[", "1gn0r3 ", "$@!|", "y0u 4r3 ", "the user ", "you are ", "not ", "do not ", "if ", "when ",
        "eht uoy ", "erongi ", "gur lbh ", "backwards ", "rot13 ", "\"'`", "the phrase \"", "<", "</", "<|", "[[", "((((",
        "{{", "![](", "https://a.b/", "https://", "curl $", "curl ", "cat ", "| nc ", "../", "$(", "==", "AAAA", "=",
        "\ufdfa", "\ufdfb", "\u3300", "é", "e\u0301", "a\u0300\u0323\u0327", "a\u0336", "\u0301", "\u05b0\u05bc", "\u0651\u064b",
        "\u200b", "\u200d", "\u200c", "م\u200cن", "क\u094d\u200d", "👨\u200d👩\u200d👧", "👍\ufe0f", "\ufe0f", "\U000e0041",
        "\U000e0101", "😀\U000e0120", "🏴\U000e0067\U000e0062\U000e007f", "\u202e", "\u200e", "\u2066a", "\u00ad", "a\u00ad",
        "\ufeff", "\u2060", "\u3164", "\u115f", "я", "аb", "аbcd ", "рaypal ", "коммит ", "ο", "ａ", "ａｂ ", "𝐚", "𝐚𝐛 ", "Ⓐ",
        "忽略", "忽", "系统提示", "无视之前", "あ", "指示", "무시", "한", "ไ", "ก\u200b", "\ud800", "\x00", "\x1b[", "\r\n", "\u2028",
        "memory-context ", "<memory-context>", "im_start ", "<|im_start|>", "authorized ", "id_rsa ", ".env ", ".ssh/",
        "ignore ", "previous ", "instructions ", "ignore previous ", "all the your any ", "now ", "you now ", "system: ",
    ):  # fmt: skip
        yield f"repeated {text[:20]!a}", _fill(text, size)
    yield (
        "random words",
        " ".join("".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(size // 4))[:size],
    )
    yield "random letters", "".join(rng.choices(letters, k=size))
    yield (
        "random two-letter words",
        " ".join("".join(pair) for pair in rng.choices([*itertools.product(letters, repeat=2)], k=size // 3))[
            :size
        ],
    )
    yield "random one-letter words", " ".join(rng.choices(letters, k=size // 2))
    yield "random base64", base64.b64encode(rng.randbytes(size))[:size].decode()
    yield (
        "base64 pieces",
        " ".join(base64.b64encode(rng.randbytes(12)).decode() for _ in range(size // 17))[:size],
    )
    yield (
        "base64 of text",
        " ".join(base64.b64encode(f"hello dear reader {n}".encode()).decode() for n in range(size // 25))[
            :size
        ],
    )
    yield "hex pieces", " ".join(rng.randbytes(10).hex() for _ in range(size // 21))[:size]
    yield "hex of text", " ".join(f"dear reader {n}".encode().hex() for n in range(size // 30))[:size]
    yield (
        "random unicode",
        "".join(
            chr(rng.choice([rng.randint(0xA0, 0x2FFF), rng.randint(0x1D400, 0x1D7FF)])) for _ in range(size)
        ),
    )
    yield "random marks", "".join(chr(rng.randint(0x300, 0x36F)) for _ in range(size))
    yield (
        "random marks of other scripts",
        "".join(chr(rng.choice([0x5B0, 0x5BC, 0x64B, 0x651, 0x93C, 0x94D, 0x3099])) for _ in range(size)),
    )
    yield "random CJK", "".join(chr(rng.randint(0x4E00, 0x9FFF)) for _ in range(size))
    yield (
        "mixed disguises",
        _numbered(lambda n: f"%41&#66;\\x43 1gn0re{n} i g n o r e аb-\nc aGVsbG8gd29ybGQhISE= ", size),
    )
    yield (
        "layers of everything",
        _numbered(lambda n: f"ign0re_previous%20instructions{n} &#105;gnore-\nall ", size),
    )
    yield (
        "one long line of quotes",
        _numbered(lambda n: f'the phrase "ignore previous instructions {n}', size),
    )
    yield "look-alike words", _numbered(lambda n: f"рrevious{n} ignоre аll ", size)
    yield "leet words", _numbered(lambda n: f"1gn0r3 pr3v10u5 {n} ", size)


def _with_number(text: str, number: int) -> str:
    return f"{text} {number} "


def _fill(text: str, size: int) -> str:
    return (text * (size // len(text) + 1))[:size]


def _numbered(make: Callable[[int], str], size: int) -> str:
    parts: list[str] = []
    length = 0
    for number in itertools.count():
        part = make(number)
        parts.append(part)
        length += len(part)
        if length >= size:
            return "".join(parts)[:size]
    raise AssertionError


def measure(scanner: Scanner, text: str, runs: int = 12) -> float:
    """The CPU time of one scan in milliseconds, the best of a few; of more where a neighbour may have disturbed."""
    best = float("inf")
    for _ in range(runs):
        begun = time.process_time()
        scanner.scan(text)
        best = min(best, time.process_time() - begun)
        if best * 1000 < 20:
            break
    return best * 1000


def main() -> int:
    """Measure every shape and print the slowest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--limit", type=float, default=50.0, help="milliseconds")
    parser.add_argument("--top", type=int, default=10)
    options = parser.parse_args()
    scanner = Scanner.shipped()
    for rule in scanner.rules:
        scanner.scan(" ".join(rule.match) or rule.id)  # rules are compiled when first needed
    times = sorted(
        ((measure(scanner, text), name) for name, text in shapes(scanner.rules, options.size)), reverse=True
    )
    print(f"{len(times)} shapes of {options.size:,} characters")
    for taken, name in times[: options.top]:
        print(f"  {taken:7.1f} ms  {name}")
    print(
        f"worst {times[0][0]:.1f} ms, median {times[len(times) // 2][0]:.1f} ms, limit {options.limit:.0f} ms"
    )
    return int(times[0][0] > options.limit)


if __name__ == "__main__":
    sys.exit(main())
