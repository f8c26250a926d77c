"""Draw docs/picture.svg, the terminal at the top of the README, from a real run of `gitmem demo`.

    python examples/picture.py docs/picture.svg

The story runs at a terminal of 80 columns; its colours become those of the picture.
"""

from __future__ import annotations

import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import sys
import termios

COLUMNS, WIDTH, HEIGHT, MARGIN = 80, 8.4, 18, 16
FIRST, LAST = "# What did it learn?", "# And it can be proved whole."
COLOURS = {"1": "#ffffff", "2": "#8b949e", "31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#76e3ea"}
STYLE = "font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre"


def run() -> list[str]:
    """The lines of the demo that the picture shows, with their colours."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 100, COLUMNS, 0, 0))
    env = {**os.environ, "TERM": "xterm", "NO_COLOR": ""}
    command = [sys.executable, "-m", "gitmem", "demo"]
    with subprocess.Popen(command, stdin=follower, stdout=follower, env=env) as story:
        os.close(follower)
        pieces = []
        try:
            while piece := os.read(leader, 65536):
                pieces.append(piece)
        except OSError:  # Linux says so when the other end is closed
            pass
    os.close(leader)
    if story.returncode:
        sys.exit(story.returncode)
    lines = b"".join(pieces).decode().replace("\r\n", "\n").splitlines()
    names = [plain(line) for line in lines]
    return lines[names.index(FIRST) : names.index(LAST)]


def plain(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", line)


def spans(line: str) -> str:
    """A line as SVG: each colour a span."""
    drawn, colour = [], ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            colour = COLOURS.get(part[2:-1], "")
        elif part:
            text = html.escape(part)
            drawn.append(f'<tspan fill="{colour}">{text}</tspan>' if colour else text)
    return "".join(drawn)


def picture(lines: list[str]) -> str:
    width, height = round(COLUMNS * WIDTH) + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    rows = "\n".join(
        f'<text x="{MARGIN}" y="{MARGIN + HEIGHT * row + 13}" xml:space="preserve">{spans(line)}</text>'
        for row, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n'
        f'<g fill="#e6edf3" style="{STYLE}">\n{rows}\n</g>\n</svg>\n'
    )


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(picture(run()))
