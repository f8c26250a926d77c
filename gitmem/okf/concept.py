"""A concept: one OKF file, its front matter and its body, changed without touching what was not asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from gitmem.errors import BrokenConcept, InvalidContent, TooLarge
from gitmem.okf import frontmatter

MAX_CONCEPT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Concept:
    """The front matter's values and the body; `yaml` and its marks are the exact source that `render` writes.

    `meta` is to be read only: a change goes through `with_meta`, which keeps the source in step.
    """

    meta: Mapping[str, object]
    body: str
    yaml: str = field(default="", repr=False)
    opening: str = field(default="---\n", repr=False)
    closing: str = field(default="---\n", repr=False)

    def __post_init__(self) -> None:
        if not type_of(self.meta):
            raise BrokenConcept("The front matter has no type, or an empty one.")
        object.__setattr__(self, "meta", MappingProxyType(dict(self.meta)))
        if not self.yaml:
            object.__setattr__(self, "yaml", frontmatter.dump(self.meta))

    @classmethod
    def new(cls, type: str, body: str = "", **meta: object) -> Concept:  # noqa: A002 - OKF's own word
        """A concept of that type; keys whose value is None are left out."""
        return cls({"type": type, **{key: value for key, value in meta.items() if value is not None}}, body)

    @classmethod
    def parse(cls, data: bytes, path: str = "") -> Concept:
        """The concept in those bytes; BrokenConcept or TooLarge, naming the path, when they hold none."""
        return cls.from_text(decode(data, path), path)

    @classmethod
    def from_text(cls, text: str, path: str = "") -> Concept:
        """The concept that the text spells; the same errors as `parse`."""
        try:
            found = frontmatter.read(text)
            if found is None:
                raise BrokenConcept("It does not begin with front matter.")
            meta, parts = found
            return cls(meta, parts.body, parts.yaml, parts.opening, parts.closing)
        except (BrokenConcept, TooLarge) as error:
            raise type(error)(f"{_named(path)}: {error}", hint=_HINT) from error

    @classmethod
    def parse_leniently(cls, data: bytes | None, path: str = "") -> Concept | None:
        """The concept in those bytes; None where they hold none: a broken one is the business of `gitmem check`."""
        try:
            return cls.parse(data, path) if data is not None else None
        except InvalidContent:
            return None

    @property
    def type(self) -> str:
        """The OKF type, never empty."""
        return type_of(self.meta)

    @property
    def title(self) -> str:
        """The title as text; empty when there is none."""
        title = self.meta.get("title")
        return " ".join(str(title).split()) if isinstance(title, str | int | float) else ""

    def render(self) -> bytes:
        """The file's bytes: exactly what was parsed, but for what was changed since."""
        try:
            data = f"{self.opening}{self.yaml}{self.closing}{self.body}".encode()
        except UnicodeEncodeError as error:
            raise InvalidContent("The text cannot be written as UTF-8: it holds half a character.") from error
        # What could not be read back is not written.
        if len(data) > MAX_CONCEPT_BYTES:
            raise TooLarge(f"The file would be larger than {MAX_CONCEPT_BYTES // 1024} KB.")
        if len(self.yaml.encode()) > frontmatter.MAX_YAML_BYTES:
            raise TooLarge(f"The front matter would be larger than {frontmatter.MAX_YAML_BYTES // 1024} KB.")
        return data

    def with_body(self, text: str) -> Concept:
        """The same concept with another body."""
        closing = self.closing
        if text and not closing.endswith("\n"):
            closing += self._newline
        return replace(self, body=text, closing=closing)

    def with_meta(self, /, **changes: object) -> Concept:
        """The same concept with some values changed or added; None takes a key out.

        Every other key keeps its source lines, comments included. Only where the source cannot be cut
        between keys (one flow mapping) is the whole block rewritten.
        """
        touched = {key for key, value in changes.items() if not same_values(self.meta.get(key), value)}
        wanted = {**self.meta, **changes}
        for key, value in changes.items():
            if value is None:
                wanted.pop(key)
                touched |= {key} & self.meta.keys()
        if not touched:
            return self
        return replace(self, meta=wanted, yaml=self._spliced(wanted, touched) or self._lines(wanted))

    def _spliced(self, wanted: Mapping[str, object], touched: set[str]) -> str | None:
        """The source with only the touched keys' lines changed; None when that cannot be done."""
        blocks = frontmatter.blocks(self.yaml, self.meta.keys())
        if blocks is None:
            return None
        yaml = self.yaml
        for key, (start, end) in reversed([*zip(self.meta, blocks, strict=True)]):
            if key in touched:
                new = self._lines({key: wanted[key]}) if key in wanted else ""
                yaml = yaml[:start] + new + yaml[end:]
        yaml += "".join(self._lines({key: wanted[key]}) for key in wanted if key not in self.meta)
        # The cut is textual, so it is proved: a column-0 line inside quotes, for one, looks like a comment.
        try:
            is_proved = same_values(frontmatter.load(yaml), wanted)
        except InvalidContent:
            return None
        return yaml if is_proved else None

    def _lines(self, values: Mapping[str, object]) -> str:
        return frontmatter.dump(values).replace("\n", self._newline)

    @property
    def _newline(self) -> str:
        return "\r\n" if self.opening.endswith("\r\n") else "\n"


_HINT = "Repair the lines between the two --- marks, or take back the last change of the file."


def decode(data: bytes, path: str = "") -> str:
    """The text of a concept's bytes; BrokenConcept when they are not UTF-8, TooLarge over the limit."""
    if len(data) > MAX_CONCEPT_BYTES:
        raise TooLarge(f"{_named(path)}: It is larger than {MAX_CONCEPT_BYTES // 1024} KB.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BrokenConcept(f"{_named(path)}: It is not UTF-8 (byte {error.start}).") from error


def as_note(path: str, text: str) -> tuple[Concept, str]:
    """A markdown file that is not a concept made one, and a sentence about what was missing; its text stays whole."""
    title = path.rpartition("/")[2].removesuffix(".md")
    try:
        found = frontmatter.read(text)
    except InvalidContent:
        return Concept.new("Note", text, title=title), "its front matter cannot be read, and is kept as text."
    if found is None:
        return Concept.new("Note", text, title=title), "it had no front matter, and has one now."
    meta, parts = found
    others = {key: value for key, value in meta.items() if key != "type"}
    return Concept.new("Note", parts.body, **others), "it had no type, and is a Note now."


def type_of(meta: Mapping[str, object]) -> str:
    """The OKF type in front matter values; empty when it is missing, blank, or no plain value."""
    value = meta.get("type")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).strip() if isinstance(value, str | int | float) else ""


def same_values(one: object, other: object) -> bool:
    """Return whether two values have the same text in front matter: it tells 1 from True and 1.0, and a tuple is a list."""
    # Texts are most of what there is, and are compared without being written.
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one == other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return list(one) == list(other) and all(map(same_values, one.values(), other.values()))
    if frontmatter.is_list(one) and frontmatter.is_list(other):
        return len(one) == len(other) and all(map(same_values, one, other))
    return frontmatter.dump_value(one) == frontmatter.dump_value(other)


def _named(path: str) -> str:
    return ascii(path)[1:-1] if path else "The file"
