from __future__ import annotations

import unicodedata

from gitmem.okf.entries import entry_hash, is_hash
from gitmem.text.similarity import pair_similar
from hypothesis import given

from tests.okf.strategies import TEXT


def test_entry_hash_is_fixed() -> None:
    """The identity of a text is written into every bundle: it can never change."""
    assert entry_hash("") == "e3b0c44298fc1c149afbf4c8996fb924"
    assert entry_hash("\n abc ") == "ba7816bf8f01cfea414140de5dae2223"


@given(TEXT)
def test_entry_hash_ignores_form_and_padding(text: str) -> None:
    """Unicode form and outer white space are not part of a text's identity."""
    assert entry_hash(f" \n{unicodedata.normalize('NFD', text)}\t") == entry_hash(
        unicodedata.normalize("NFC", text)
    )
    assert is_hash(entry_hash(text))


def test_similar_pairs_are_bounded() -> None:
    """A rewritten file with very many entries is not paired at all; few long ones are."""
    assert pair_similar(["a"] * 100, ["a"] * 100) == {}
    old, new = ["deploys happen on tuesday at noon"], ["deploys happen on thursday at noon"]
    assert pair_similar(old, new) == {0: 0}
