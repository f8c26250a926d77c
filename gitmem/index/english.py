"""Irregular English forms that stemming does not bring together."""

from __future__ import annotations

from functools import cache

_IRREGULAR = """become became|begin began begun|bite bit bitten|blow blew blown|break broke broken|bring brought
build built|buy bought|catch caught|choose chose chosen|come came|deal dealt|dig dug|do did done|draw drew drawn
drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found
fly flew flown|forget forgot forgotten|freeze froze frozen|get got gotten|give gave given|go went gone
grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept|know knew known|lead led|leave left
lend lent|lose lost|make made|mean meant|meet met|pay paid|ride rode ridden|ring rang rung|rise rose risen
run ran|say said|see saw seen|sell sold|send sent|shake shook shaken|shine shone|shoot shot|sing sang sung
sit sat|sleep slept|speak spoke spoken|spend spent|stand stood|steal stole stolen|swim swam swum
take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown
understand understood|wake woke woken|wear wore worn|win won|write wrote written|child children|man men
woman women|person people|foot feet|tooth teeth|mouse mice|life lives|wife wives|leaf leaves"""


@cache
def _forms() -> dict[str, tuple[str, ...]]:
    groups = [tuple(group.split()) for group in _IRREGULAR.replace("\n", "|").split("|")]
    return {word: group for group in groups for word in group}


def forms(word: str) -> tuple[str, ...]:
    """The word and the forms of it that stemming does not bring together."""
    found = _forms().get(word)
    return (word, *(other for other in found if other != word)) if found else (word,)


def base(word: str) -> str:
    """The form that stands for all the forms of a word that stemming does not bring together."""
    found = _forms().get(word)
    return found[0] if found else word
