"""Finding what is new in the list of messages that a host hands over."""

from __future__ import annotations

from gitmem.memory.conversation import Conversation

from tests.hosts.talk import answer, result, tool_call, user


def test_only_the_new_tail_is_stored() -> None:
    """The host hands over the whole conversation every time."""
    conversation, messages = Conversation(), [user("one"), answer("1")]
    assert ["one"] == [one.user for one in conversation.fresh(messages, "one", "1")]
    messages += [user("two"), tool_call("terminal", "c1", cmd="ls"), result("c1", "files"), answer("2")]
    [second] = conversation.fresh(messages, "two", "2")
    assert ("two", "2", ["terminal"]) == (second.user, second.answer, [call.name for call in second.calls])
    assert [] == conversation.calls(messages)


def test_an_interrupted_turn_is_stored_with_the_next() -> None:
    """The host reports no turn that was interrupted; its messages are in the list."""
    conversation, messages = Conversation(), [user("one"), answer("1")]
    conversation.fresh(messages, "one", "1")
    messages += [user("stop this"), answer("I began"), user("two"), answer("2")]
    assert ["stop this", "two"] == [one.user for one in conversation.fresh(messages, "two", "2")]


def test_recalled_text_is_never_stored() -> None:
    """Neither `api_content` nor a fence in the text."""
    conversation = Conversation()
    messages = [
        {**user("hello"), "api_content": "hello\n\n<memory-context>SECRET RECALL</memory-context>"},
        answer("hi <memory-context>SECRET RECALL</memory-context>"),
    ]
    [one] = conversation.fresh(messages, "hello", "hi")
    assert ("hello", "hi") == (one.user, one.answer)


def test_a_conversation_that_was_cut_is_not_stored_again() -> None:
    """After a compaction the list is another one: what is known is not stored twice."""
    conversation = Conversation()
    messages = [user("one"), tool_call("terminal", "c1"), result("c1", "ok"), answer("1")]
    conversation.fresh(messages, "one", "1")
    conversation.reset()
    cut = [answer("[summary]"), user("three"), tool_call("terminal", "c1"), result("c1", "ok"), answer("3")]
    [one] = conversation.fresh(cut, "three", "3")
    assert ("three", "3", []) == (one.user, one.answer, one.calls)


def test_parts_of_a_message_are_joined() -> None:
    """Pictures are left out, their captions are not."""
    conversation = Conversation()
    first = [user("hello"), answer("hi")]
    conversation.fresh(first, "hello", "hi")
    content = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    messages = [*first, {"role": "user", "content": content}, answer("a cat"), user("so"), answer("yes")]
    assert ["look", "so"] == [one.user for one in conversation.fresh(messages, "so", "yes")]


def test_a_copied_list_has_the_same_messages() -> None:
    """A host that builds its list again from a database hands over other objects with the same words."""
    conversation = Conversation()
    first = [user("one"), answer("1")]
    assert first == conversation.behind(first)
    copied = [dict(message) for message in first]
    assert [user("two")] == conversation.behind([*copied, user("two")])


def test_what_cannot_be_written_as_json_is_a_message_too() -> None:
    """An argument that contains itself stops nothing."""
    looped: list[object] = []
    looped.append(looped)
    strange = {"role": "assistant", "content": looped, "tool_calls": [{"function": {"arguments": looped}}]}
    conversation = Conversation()
    assert [strange] == conversation.behind([strange])
    assert [] == conversation.behind([strange])
