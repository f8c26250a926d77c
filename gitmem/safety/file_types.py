"""What a file that is no text is, by its first bytes: a picture, an archive, a program, or nothing that is known."""

from __future__ import annotations

from typing import NamedTuple


class FileKind(NamedTuple):
    """A kind of file: its name, whether it runs, and what is said of it."""

    name: str
    is_harmless: bool = False
    runs: bool = False
    reason: str = ""


_PROGRAM = FileKind("program", runs=True, reason="is a program, which nobody can read")
_ARCHIVE = FileKind("archive", reason="is an archive, which is not looked into")
_MEDIA = FileKind("media", is_harmless=True)
_UNKNOWN = FileKind("binary", reason="is neither text nor a known kind of picture, sound, font or document")
_STARTS: tuple[tuple[bytes, FileKind], ...] = (
    *((start, _PROGRAM) for start in (
        b"\x7fELF", b"MZ", b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe",
        b"\xca\xfe\xba\xbe", b"\0asm", b"dex\n", b"!<arch>\n",
    )),
    *((start, _ARCHIVE) for start in (
        b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07",
        b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"LZIP", b"\x1f\x9d", b"MSCF", b"xar!", b"070701",
    )),
    *((start, _MEDIA) for start in (
        b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"%PDF-", b"II*\0", b"MM\0*", b"ID3",
        b"OggS", b"fLaC", b"\0\0\x01\0", b"wOFF", b"wOF2", b"OTTO", b"\0\x01\0\0", b"ttcf", b"SQLite format 3\0",
    )),
)  # fmt: skip
_TAR = 257
_DECLARED = 4


def kind_of(data: bytes) -> FileKind:
    """What the bytes of a file that is no text are."""
    for start, kind in _STARTS:
        if data.startswith(start):
            return kind
    if data[_TAR : _TAR + 5] == b"ustar":
        return _ARCHIVE
    if data.startswith(b"RIFF") and data[8:12] in (b"WEBP", b"WAVE", b"AVI "):
        return _MEDIA
    if data[_DECLARED : _DECLARED + 4] == b"ftyp":
        return _MEDIA
    return _UNKNOWN
