from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

import pytest
from gitmem.errors import BrokenConcept, InvalidContent
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile, check_text, split_texts
from gitmem.okf.entries import DELIMITER, Entry, entry_hash
from gitmem.okf.frontmatter import plain_newlines
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.okf.strategies import AT, TEXT

NOW = "2026-07-01T00:00:00.000Z"


def texts(file: CuratedFile) -> list[str]:
    return [entry.text for entry in file.entries]


def filled(*given_texts: str, at: str = AT) -> CuratedFile:
    file = CuratedFile.new(title="Memory")
    for text in given_texts:
        file = file.add(text, at)
    return file


def is_entry(text: str) -> bool:
    try:
        check_text(text)
    except InvalidContent:
        return False
    return True


ENTRY_TEXTS = TEXT.filter(is_entry)


def quoted(name: str) -> str:
    return name if name[0].isalpha() else f'"{name}"'


def test_the_file_on_disk() -> None:
    """The exact bytes: front matter with the list, then the host's own body."""
    one, two = entry_hash("User likes tabs"), entry_hash("Second\nline")
    file = filled("User likes tabs", "  Second\nline ")
    assert file.render().decode() == (
        "---\ntype: CuratedMemory\ntitle: Memory\nentries:\n"
        f'- {{h: {quoted(one)}, at: "{AT}"}}\n- {{h: {quoted(two)}, at: "2026-06-30T14:00:00.001Z"}}\n'
        "---\nUser likes tabs\n§\nSecond\nline\n"
    )
    assert file.text == "User likes tabs\n§\nSecond\nline"
    assert file.usage == len(file.text)


@given(st.lists(ENTRY_TEXTS, max_size=6))
@example(["e\u0301", "é", "x"])
@example(["---", "---\na: 1\n---", "§ x", "x §", "a\r\nb", "\ufeff", "a\n\n\nb", "a\rb"])
def test_entries_survive_the_disk(given_texts: list[str]) -> None:
    """Whatever the texts, what was added is read back: same text, identity, age and order."""
    file = filled(*given_texts)
    again = CuratedFile.parse(file.render())
    assert again.entries == file.entries
    assert again.render() == file.render()
    firsts = {entry_hash(text): text.strip() for text in reversed(given_texts)}
    assert {entry.key.id: entry.text for entry in file.entries} == firsts
    assert texts(file) == list(dict.fromkeys(firsts[entry_hash(text)] for text in given_texts))


@given(st.binary(max_size=80) | TEXT.map(str.encode))
@example(b"---\ntype: X\n")
@example(b"\xff\xfe\n\xc2\xa7\nx")
def test_any_bytes_are_read_leniently(data: bytes) -> None:
    """Salvage never fails, and its outcome can be written and read."""
    file = CuratedFile.parse_leniently(data, "memories/MEMORY.md")
    assert CuratedFile.parse(file.render()).entries == file.entries


@given(TEXT)
def test_a_host_body_keeps_its_texts(body: str) -> None:
    """A bare host file gives exactly the texts that the host itself would read, but for doubles."""
    assume(not body.startswith(("---", "\ufeff")) and "\r" not in body)
    host = [text.strip() for text in body.split(DELIMITER) if text.strip()]
    assume(all(is_entry(text) for text in host))
    found = texts(CuratedFile.parse(body.encode(), "memories/MEMORY.md"))
    assert [entry_hash(text) for text in found] == list(dict.fromkeys(map(entry_hash, host)))


def test_identity_is_by_normal_form_and_text_as_given() -> None:
    """Composed and decomposed text is one entry; the first spelling is kept."""
    file = filled("cafe\u0301").add("caf\u00e9", NOW)
    assert texts(file) == ["cafe\u0301"]
    assert unicodedata.normalize("NFC", "cafe\u0301") == "caf\u00e9"


@pytest.mark.parametrize(
    "text", ["", " \n\t", "§", "a\n§\nb", "a\n § \nb", "a\r§\rb", "§\nb", "b\n§\r\n", "\ud800"]
)
def test_texts_that_can_not_be_one_entry(text: str) -> None:
    """Nothing, a separator line by any line end, or half a character is refused."""
    with pytest.raises(InvalidContent):
        filled().add(text, AT)


def test_a_double_is_no_change() -> None:
    """Adding what is there gives the same file."""
    file = filled("a")
    assert file.add(" a\n", NOW) is file


def test_replace_says_what_it_replaced() -> None:
    """The old text goes, the new one names it and stands in its place, as the host has it."""
    file = filled("a", "b").replace(entry_hash("a"), "c", NOW)
    assert texts(file) == ["c", "b"]
    assert CuratedFile.parse(file.render()).entries == file.entries
    assert file.entries[0].replaces == entry_hash("a")
    assert file.entries[0].at == NOW


def test_an_added_entry_is_the_last_whatever_the_clocks_say() -> None:
    """Also behind one whose clock was ahead; its own age stays true."""
    file = CuratedFile.new().add("from tomorrow", "2026-12-31T00:00:00.000Z").add("now", NOW)
    assert texts(file.add("and then", NOW)) == ["from tomorrow", "now", "and then"]
    assert file.entries[1].at == NOW


def test_replace_by_what_is_there() -> None:
    """The same text is not a change, another entry's text leaves it alone, an unknown hash is refused."""
    file = filled("a", "b")
    assert file.replace(entry_hash("a"), "a ", NOW) is file
    assert texts(file.replace(entry_hash("a"), "b", NOW)) == ["b"]
    with pytest.raises(InvalidContent):
        file.replace(entry_hash("x"), "y", NOW)


def test_remove() -> None:
    """An entry goes; one that is not there is not a change."""
    file = filled("a", "b")
    assert texts(file.remove(entry_hash("a"))) == ["b"]
    assert file.remove(entry_hash("x")) is file
    assert file.remove(entry_hash("a")).remove(entry_hash("b")).render().endswith(b"entries: []\n---\n")


def test_next_at_stands_behind_the_last() -> None:
    """Within a second the new entry follows the last one; a clock far ahead is not followed."""
    file = filled("a", at="2026-06-30T14:00:00.500Z")
    assert file.next_at("2026-06-30T14:00:00.000Z") == "2026-06-30T14:00:00.501Z"
    assert file.next_at("2026-06-30T16:00:01.000+02:00") == "2026-06-30T14:00:01.000Z"
    assert file.next_at("2026-06-30T13:59:59.499Z") == "2026-06-30T13:59:59.499Z"
    assert filled().next_at(AT) == AT
    with pytest.raises(InvalidContent):
        file.next_at("now")


def test_unknown_keys_survive() -> None:
    """Keys of the file and of its entries that we do not know are kept through a change."""
    file = filled("a").add("b", AT, source="web", replaces=entry_hash("z"))
    assert file.entries[1].replaces == entry_hash("z")
    data = file.render().replace(b"title: Memory\n", b"title: Memory # mine\nx-own: {k: 1}\n")
    changed = CuratedFile.parse(data).add("c", NOW).render()
    assert b"title: Memory # mine\nx-own: {k: 1}\n" in changed
    assert CuratedFile.parse(changed).entries[1].extra == {"source": "web"}


def test_taken_in_keeps_what_the_old_file_knew() -> None:
    """A file whose list was lost gets ages, replaced hashes and unknown keys back from the old one."""
    old = filled("a").add("b", AT, source="web", replaces=entry_hash("z"))
    found = CuratedFile.parse(b"a\n\xc2\xa7\nb", "memories/MEMORY.md").taken_in(old, NOW)
    assert found.entries == old.entries
    assert found.entries[1].extra == {"source": "web"}


def test_the_list_follows_the_body() -> None:
    """A text without a line in the list has no age; a line without a text is dropped."""
    data = filled("a", "b").render().replace(b"a\n\xc2\xa7\nb", b"c\n\xc2\xa7\nb")
    file = CuratedFile.parse(data)
    assert [(entry.text, entry.at) for entry in file.entries] == [
        ("c", ""),
        ("b", "2026-06-30T14:00:00.001Z"),
    ]
    assert entry_hash("a").encode() not in file.render()


@pytest.mark.parametrize(
    "listing",
    [
        *("entries: 5", "entries: [5, {h: 1}, {h: x}, {}, null]", "entries: {h: a}", "x: 1"),
        f"entries: [{{h: {entry_hash('a')}, at: yesterday, replaces: [1]}}]",
    ],
)
def test_a_wrong_list_says_nothing(listing: str) -> None:
    """A list of another form costs the ages, not the texts."""
    file = CuratedFile.parse(f"---\ntype: CuratedMemory\n{listing}\n---\na\n§\nb".encode())
    assert [(entry.text, entry.at, entry.replaces) for entry in file.entries] == [
        ("a", "", ""),
        ("b", "", ""),
    ]


def test_foreign_times_are_made_canonical() -> None:
    """A time with another offset sorts where it belongs."""
    listing = f"entries: [{{h: {entry_hash('a')}, at: 2026-06-30T16:00:00+02:00}}]"
    file = CuratedFile.parse(f"---\ntype: CuratedMemory\n{listing}\n---\na".encode())
    assert file.entries[0].at == AT


@pytest.mark.parametrize(
    "data",
    [
        b"a\n\xc2\xa7\nb",
        b"\xef\xbb\xbfa\r\n\xc2\xa7\r\nb\r\n",
        b"\n\n  a  \n\xc2\xa7\n\n\xc2\xa7\nb\n\xc2\xa7\na\n\xc2\xa7\n",
        b"\xef\xbb\xbf---\r\ntype: CuratedMemory\r\n---\r\na\r\n\xc2\xa7\r\nb",
        b"---\ntype: CuratedMemory\n---\na\n \xc2\xa7\t\nb",
    ],
)
def test_what_editors_leave_is_read(data: bytes) -> None:
    """No front matter, CRLF, a byte order mark, blank, padded and doubled entries: the same two texts."""
    assert texts(CuratedFile.parse(data, "memories/MEMORY.md")) == ["a", "b"]


def test_a_bare_file_gets_its_types() -> None:
    """Without front matter the type is the one of the place."""
    assert CuratedFile.parse(b"a", "memories/archive/user.md").concept.type == "ArchivedMemory"
    assert CuratedFile.parse(b"a", "hermes/observations/user_profile_x.md").concept.type == "UserProfile"
    assert CuratedFile.parse(b"a", "tools/x.md").concept.type == "CuratedMemory"
    assert CuratedFile.parse(b"a").render().endswith(b"---\na\n")


def test_multi_line_crlf_entries_keep_their_identity() -> None:
    """An editor that saves with CRLF does not make new entries."""
    file = filled("one\ntwo", "three")
    crlf = CuratedFile.parse(file.render().replace(b"\n", b"\r\n"))
    assert crlf.entries == file.entries
    assert crlf.render() == file.render()


def test_broken_front_matter_is_an_error_and_can_be_read_leniently() -> None:
    """Strictly it is refused; leniently every text is there, and the last commit knows their ages."""
    data = filled("a", "b").render().replace(b"title: Memory", b"title: [Memory")
    with pytest.raises(BrokenConcept, match=r"m\.md"):
        CuratedFile.parse(data, "m.md")
    file = CuratedFile.parse_leniently(data)
    assert texts(file) == ["a", "b"]
    assert file.taken_in(filled("a", "b"), NOW).entries == filled("a", "b").entries


def test_an_unclosed_block() -> None:
    """Without the closing line no text is lost, and our own lines do not become text."""
    data = filled("a", "b").render().replace(b"---\na", b"a")
    file = CuratedFile.parse_leniently(data)
    assert texts(file) == ["title: Memory\na", "b"]
    known = file.taken_in(filled("a", "b"), NOW).get(entry_hash("b"))
    assert known == filled("a", "b").entries[1]


def test_a_block_without_a_type() -> None:
    """A block that only lacks its type keeps everything else."""
    file = CuratedFile.parse_leniently(b"---\ntitle: Mine\n---\na", "memories/MEMORY.md")
    assert (file.concept.title, file.concept.type, texts(file)) == ("Mine", "CuratedMemory", ["a"])


def test_taken_in_gives_ages_and_sees_a_replace() -> None:
    """A hand edit: new texts get the time, in their order; the one that resembles a lost one replaces it."""
    old = filled("The user prefers tabs over spaces", "Lives in Berlin", "Has a cat")
    edited = old.with_text("Entirely unrelated words\n§\nThe user prefers tabs, not spaces\n§\nHas a cat")
    file = edited.taken_in(old, NOW)
    assert [(entry.text, entry.at, entry.replaces) for entry in file.entries] == [
        ("Has a cat", "2026-06-30T14:00:00.002Z", ""),
        ("Entirely unrelated words", NOW, ""),
        (
            "The user prefers tabs, not spaces",
            "2026-07-01T00:00:00.001Z",
            entry_hash("The user prefers tabs over spaces"),
        ),
    ]
    assert file.taken_in(old, "2027-01-01T00:00:00Z") == file


def test_taken_in_uses_a_lost_entry_once() -> None:
    """Two texts like one lost entry: the closer one replaces it, the other is new."""
    old = filled("deploy with make release")
    file = old.with_text("deploy with make release now\n§\ndeploy with make releases").taken_in(old, NOW)
    assert [(entry.text, bool(entry.replaces)) for entry in file.entries] == [
        ("deploy with make release now", False),
        ("deploy with make releases", True),
    ]


def test_taken_in_without_an_old_file() -> None:
    """A first file: every text gets a time, and the order of the body stays, however many there are."""
    body = DELIMITER.join(f"fact {number}" for number in range(1500))
    file = CuratedFile.parse(body.encode(), "memories/MEMORY.md").taken_in(None, AT)
    assert file.text == body
    assert file.entries[0].at == AT


def test_carriage_returns_of_content_stay() -> None:
    """A text that holds CRLF is no editor's file: it is read back as it was written."""
    file = filled("a\r\nb")
    assert CuratedFile.parse(file.render(), "memories/MEMORY.md").entries == file.entries


@given(st.lists(ENTRY_TEXTS, max_size=5), st.lists(ENTRY_TEXTS, max_size=5))
def test_taken_in_keeps_every_text(before: list[str], after: list[str]) -> None:
    """Taking in changes no text and loses none; doing it twice changes nothing more; all have an age."""
    body = DELIMITER.join(text.strip() for text in after)
    assume(plain_newlines(body) == body)
    # Lines that are added to the last text become texts of their own, which other tests are about.
    assume(not any(text.strip().startswith(f"{one.strip()}\n") for text in after for one in before))
    assume(not any(re.match(r"\s*([-*+]|\d+[.)]) ", text) for text in after))  # so do items of lists
    old = filled(*before)
    file = old.with_text(body).taken_in(old, NOW)
    assert {entry.key.id for entry in file.entries} == {entry_hash(text) for text in after if text.strip()}
    assert all(entry.at for entry in file.entries)
    assert list(file.entries) == sorted(file.entries, key=lambda entry: (entry.at, entry.key.id))
    used = [entry.replaces for entry in file.entries if entry.replaces]
    assert len(used) == len(set(used))
    assert file.taken_in(old, "2027-01-01T00:00:00.000Z") == file
    assert CuratedFile.parse(file.render()).entries == file.entries


@given(st.permutations([("a", AT), ("a", NOW), ("b", ""), ("b", NOW), ("e\u0301", AT), ("é", AT)]))
def test_with_entries_does_not_depend_on_order(pairs: list[tuple[str, str]]) -> None:
    """A union in any order is one file; of equal texts the older stays, and a known age before none."""
    made = [Entry(filled(text).entries[0].key, text, at) for text, at in pairs]
    file = CuratedFile.new().with_entries(made)
    assert {entry.text: entry.at for entry in file.entries} == {"a": AT, "b": NOW, "e\u0301": AT}
    assert [entry.text for entry in file.entries][-1] == "b"


def test_order_is_by_age_then_hash() -> None:
    """Entries of one moment are in the order of their hashes, on every machine."""
    made = [Entry(filled(text).entries[0].key, text, AT) for text in "abcdef"]
    ids = [entry.key.id for entry in CuratedFile.new().with_entries(made).entries]
    assert ids == sorted(ids)


def test_split_texts_is_by_lines() -> None:
    """Only a whole line separates."""
    assert list(split_texts("a § b\n§§\nc\n§\n§\nd")) == ["a § b\n§§\nc", "d"]


def test_rendering_keeps_other_front_matter() -> None:
    """What stands beside the list is spliced around, not rewritten."""
    data = b"---\n# my notes\ntype:   CuratedMemory\n---\nx"
    assert CuratedFile.parse(data).render().startswith(b"---\n# my notes\ntype:   CuratedMemory\nentries:\n")
    assert isinstance(CuratedFile.parse(data).concept, Concept)


@pytest.mark.parametrize(
    ("added", "texts"),
    [
        ("c\n", ["a", "b", "c"]),
        ("c\nd\n", ["a", "b", "c", "d"]),
        ("c\n  more of it\n", ["a", "b", "c\n  more of it"]),
        ("\n\nc\n", ["a", "b", "c"]),
        ("§\nc\nd\n", ["a", "b", "c\nd"]),
        ("b\n", ["a", "b"]),
        ("", ["a", "b"]),
    ],
)
def test_lines_that_a_shell_adds_are_entries(added: str, texts: list[str]) -> None:
    """`echo c >> MEMORY.md` changes no entry that is there: the file ends with a newline, and the line counts for itself."""
    old = filled("a", "b")
    found = CuratedFile.parse(old.render() + added.encode(), "memories/MEMORY.md").taken_in(old, NOW)
    assert [entry.text for entry in found.entries] == texts
    assert {entry.text: entry.at for entry in old.entries}.items() <= {
        entry.text: entry.at for entry in found.entries
    }.items()
    assert not any(entry.replaces for entry in found.entries)


def test_a_line_in_the_middle_is_part_of_its_entry() -> None:
    """Where somebody edits, and does not add to the end, a longer entry takes the place of the shorter."""
    old = filled("the first fact of all", "b")
    body = old.text.replace("of all", "of all\nand more")
    found = old.with_text(body).taken_in(old, NOW)
    assert [entry.text for entry in found.entries][-1] == "the first fact of all\nand more"
    assert found.entries[-1].replaces == entry_hash("the first fact of all")


PATH = "memories/MEMORY.md"


def test_items_of_a_list_are_entries() -> None:
    """Two bullets are two entries; their indented lines belong to them, and the body keeps the bullets."""
    body = "- Alice drinks tea\n  with milk\n* Bob drinks coffee\n§\nA text\n§\n1. first\n2. second\n"
    file = CuratedFile.parse(body.encode(), PATH).taken_in(None, NOW)
    assert [entry.text for entry in file.entries] == [
        "Alice drinks tea\n  with milk",
        "Bob drinks coffee",
        "A text",
        "first",
        "second",
    ]
    assert file.render().decode().endswith("---\n" + body)
    assert CuratedFile.parse(file.render(), PATH).entries == file.entries


def test_lists_below_headings_are_entries_too() -> None:
    """Each item, and each text between two lists, with every byte as it was; one item alone below a text stays with it."""
    body = "## Team\n\n- Alice runs the shop\n- Bob is on call\n\n\n## Servers\n- db1 is old\n"
    file = CuratedFile.parse(body.encode(), PATH).taken_in(None, NOW)
    assert [entry.text for entry in file.entries] == [
        "## Team",
        "Alice runs the shop",
        "Bob is on call",
        "## Servers",
        "db1 is old",
    ]
    assert file.render().decode().endswith("---\n" + body)
    assert CuratedFile.parse(file.render(), PATH).entries == file.entries
    for gone in ("- Alice runs the shop\n", "- Bob is on call\n", "- db1 is old\n"):
        without = file.remove(entry_hash(gone[2:].strip()))
        assert without.render().decode().endswith("---\n" + body.replace(gone, ""))
        assert CuratedFile.parse(without.render(), PATH).entries == without.entries
    reworded = file.replace(entry_hash("Bob is on call"), "Bob is away", NOW).add("A fact of its own", NOW)
    text = body.replace("Bob is on call", "Bob is away") + "§\nA fact of its own\n"
    assert reworded.render().decode().endswith("---\n" + text)
    assert CuratedFile.parse(reworded.render(), PATH).entries == reworded.entries
    alone = CuratedFile.parse(b"How to deploy:\n- push a tag\n", PATH).taken_in(None, NOW)
    assert [entry.text for entry in alone.entries] == ["How to deploy:\n- push a tag"]


def test_a_change_of_one_item_leaves_the_others_as_they_are() -> None:
    """Removed, added by hand, added by a shell without a bullet, and without its bullet."""
    old = CuratedFile.parse(b"- Alice\n- Bob\n- Carol\n", PATH).taken_in(None, NOW)
    without = old.remove(entry_hash("Bob"))
    assert without.render().endswith(b"---\n- Alice\n- Carol\n")
    assert CuratedFile.parse(without.render(), PATH).entries == without.entries
    for added, bodies in (
        (b"- Dave\n", b"- Alice\n- Bob\n- Carol\n- Dave\n"),
        (b"Dave\n", b"- Alice\n- Bob\n- Carol\nDave\n"),
    ):
        found = CuratedFile.parse(old.render() + added, PATH).taken_in(old, "2027-01-01T00:00:00Z")
        assert [entry.text for entry in found.entries] == ["Alice", "Bob", "Carol", "Dave"]
        assert found.entries[:3] == old.entries
        assert found.render().endswith(b"---\n" + bodies)
    plain = old.render().replace(b"- Bob\n", b"\xc2\xa7\nBob\n\xc2\xa7\n")
    found = CuratedFile.parse(plain, PATH).taken_in(old, "2027-01-01T00:00:00Z")
    assert found.render().endswith(b"---\n- Alice\n\xc2\xa7\nBob\n\xc2\xa7\n- Carol\n")
    assert [entry.at for entry in found.entries] == [entry.at for entry in old.entries]


def test_a_list_that_a_tool_wrote_is_one_entry() -> None:
    """Only what a person writes into the body is taken apart."""
    file = CuratedFile.new().add("- a\n- b", NOW)
    again = CuratedFile.parse(file.render(), PATH).taken_in(file, NOW)
    assert [entry.text for entry in again.entries] == ["- a\n- b"]


@given(
    st.permutations(
        ["- a", "* b\n  more", "## C", "Some prose\nof two lines", "", "\n", "- f", "1. g", "## H"]
    )
)
def test_a_page_of_lists_keeps_its_bytes(lines: list[str]) -> None:
    """Blank lines and headings stay where a person put them, also when an entry goes."""
    body = "\n".join(lines).strip() + "\n"
    file = CuratedFile.parse(body.encode(), PATH).taken_in(None, NOW)
    assert file.render().decode().endswith(f"---\n{body}")
    assert b"lead:" not in file.render()
    for entry in file.entries:
        without = file.remove(entry.key.id)
        assert CuratedFile.parse(without.render(), PATH).entries == without.entries
        assert [one.text for one in without.entries] == [one.text for one in file.entries if one != entry]


@pytest.mark.parametrize("lead", ["", "\n", "§\n", "\n- - ", "\nx", 3, None, "-\n", "\n" * 99, "\n§\n§\n"])
def test_a_lead_that_is_none_changes_no_text(lead: object) -> None:
    """A line of a stranger's export cannot bend the body."""
    file = CuratedFile.new().add("a", NOW).add("b\nc", NOW)
    file = file.with_entries([file.entries[0], replace(file.entries[1], extra={"lead": lead})])
    assert file.render().decode().endswith("---\na\n§\nb\nc\n")
    assert [entry.text for entry in CuratedFile.parse(file.render(), PATH).entries] == ["a", "b\nc"]


def test_items_stay_where_a_person_puts_them() -> None:
    """Between two others, reworded or in another order: the page is the one that the person left, to the byte."""
    old = CuratedFile.parse(b"\n# Team\n\n- Alice \n- Bob\n\n\n## Hosts\n* anvil\n\n", PATH).taken_in(
        None, NOW
    )
    page = old.render().decode()
    edits = (
        ("- Bob\n", "- Bela\n- Bob\n"),
        ("- Bob\n", ""),
        ("# Team\n", "# The team\n"),
        ("- Alice \n", ""),
    )
    for step, (line, put) in enumerate(
        (*edits, ("* anvil\n", "* anvil\n- Alice\n1. Zoe\n"), ("## Hosts", "## Host"))
    ):
        page = page.replace(line, put)
        found = CuratedFile.parse(page.encode(), PATH).taken_in(old, f"2027-01-0{step + 1}T00:00:00Z")
        assert found.render().decode().partition("\n---\n")[2] == page.partition("\n---\n")[2]
        assert CuratedFile.parse(found.render(), PATH).entries == found.entries
        old, page = found, found.render().decode()


def test_a_screen_of_blank_lines_is_no_layout() -> None:
    """It is left out of the list, where it would count for every reader."""
    file = CuratedFile.parse(b"- a\n" + b"\n" * 100_000 + b"- b\n- c\n", PATH).taken_in(None, NOW)
    assert file.render().decode().endswith("---\n- a\n§\n- b\n- c\n")


def test_a_place_in_the_middle_has_room_for_more() -> None:
    """Each new item at the top of a list stays there."""
    file = CuratedFile.parse(b"- a\n- b\n", PATH).taken_in(None, NOW)
    for number in range(20):
        page = file.render().replace(b"\n---\n- a\n", f"\n---\n- a\n- new {number}\n".encode())
        file = CuratedFile.parse(page, PATH).taken_in(file, NOW)
    assert texts(file) == ["a", *(f"new {number}" for number in reversed(range(20))), "b"]


@given(st.lists(st.sampled_from(["- a", "* b\n  more", "c", "- ", "1. d\n\n   e", "- f\ng"]), max_size=6))
def test_lists_are_read_back_as_they_were_written(blocks: list[str]) -> None:
    """Whatever stands beside them, a file that was taken in keeps its entries."""
    file = CuratedFile.parse("\n".join(blocks).encode(), PATH).taken_in(None, NOW)
    assert CuratedFile.parse(file.render(), PATH).entries == file.entries
    assert file.taken_in(file, "2027-01-01T00:00:00Z") == file
