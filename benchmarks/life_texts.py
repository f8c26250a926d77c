"""What happens in three months of a life with an agent: what was learned, what replaced it, the talk around it.

Ines runs a small seed shop, writes its software, repairs a house and plays in a band. Everything here is invented.
`LEARNED` has 60 entries with a question each; the rest of a life is made by `Talk` from patterns.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["memory", "user", "decision", "plan", "observation", "turn"]


@dataclass(frozen=True, slots=True)
class Learned:
    """Something that became known on a day. `question` is answered by it; `outdated` was true before it, and is not now.

    Where `takes` says so, the older text is replaced by this one in the curated store; else it is removed, or, as a
    decision, only overtaken.
    """

    day: int
    kind: Kind
    text: str
    question: str
    why: str = ""
    outdated: tuple[Outdated, ...] = ()
    steps: tuple[str, ...] = ()
    answer: str = ""
    """For a turn: what the agent answered."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """An older entry: known from `day` on, until the entry that it belongs to came, or until `gone`."""

    day: int
    text: str
    how: Literal["replaced", "removed", "overtaken"] = "replaced"
    gone: int = 0
    why: str = ""


def _was(
    day: int,
    text: str,
    how: Literal["replaced", "removed", "overtaken"] = "replaced",
    gone: int = 0,
    why: str = "",
) -> tuple[Outdated, ...]:
    return (Outdated(day, text, how, gone, why),)


LEARNED: tuple[Learned, ...] = (
    # What holds for the work
    Learned(40, "memory", "Deploys happen on Thursdays after the stand-up", "On which day do we deploy?",
            outdated=_was(3, "Deploys happen on Tuesdays")),
    Learned(55, "memory", "The staging server is wren.seedshop.example, ssh on port 2200",
            "how do I reach the staging server",
            outdated=_was(2, "The staging server is lark.seedshop.example, ssh on port 2222")),
    Learned(5, "memory", "Run `make seed` before the integration tests: they need the sample catalogue",
            "what has to run before the integration tests"),
    Learned(6, "memory", "Commit messages are in English, in the imperative, without a ticket number",
            "how should commit messages be written?"),
    Learned(9, "memory", "The VAT export for the accountant is due on the 10th of each month",
            "when is the VAT export due"),
    Learned(12, "memory", "Photos of customers are never used without written consent",
            "may we use photos of our customers?"),
    Learned(15, "memory", "The warehouse printer is a Zebra ZD421 at 10.0.4.17", "which printer is in the warehouse"),
    Learned(21, "memory", "Die Heizung im Gewächshaus darf nachts nicht unter 8 Grad fallen",
            "Wie kalt darf es nachts im Gewächshaus werden?"),
    Learned(24, "memory", "Migrations are never edited once they are merged; write a new one",
            "am I allowed to change a migration that is merged already"),
    Learned(62, "memory", "Backups of the shop are kept for 35 days in the Helsinki bucket",
            "how long are backups kept",
            outdated=_was(7, "Backups of the shop are kept for 14 days in the Frankfurt bucket")),
    Learned(33, "memory", "The on-call phone is with Tomas in even weeks and with Noor in odd weeks",
            "who has the on-call phone in odd weeks?"),
    Learned(47, "memory", "API clients get version 2; version 1 is switched off on 1 December",
            "when does version 1 of the API go away"),
    Learned(51, "memory", "Le fournisseur de sachets livre seulement le mercredi matin",
            "Quand le fournisseur livre-t-il les sachets ?"),
    Learned(66, "memory", "The coupon AUTUMN15 gives fifteen percent until the end of November",
            "which coupon is valid right now",
            outdated=_was(18, "The coupon SPRING10 gives ten percent on everything", "removed", 50)),
    # What holds for the person
    Learned(44, "user", "Prefers short answers with the command first", "what kind of answers does the user prefer?",
            outdated=_was(4, "Prefers long answers with the background explained")),
    Learned(1, "user", "Is called Ines Okafor and signs mails as Ines", "how does the user sign mails"),
    Learned(14, "user", "Is allergic to hazelnuts", "what is she allergic to?"),
    Learned(38, "user", "Works from Monday to Thursday; Friday belongs to the garden",
            "on which days does Ines work",
            outdated=_was(8, "Works on Fridays until noon", "removed", 37)),
    Learned(17, "user", "Speaks German and English; letters to suppliers are in German",
            "in which language do I write to suppliers?"),
    Learned(70, "user", "Uses Neovim with the gruvbox theme", "which editor does the user like best",
            outdated=_was(10, "Uses VS Code as an editor, with a light theme", "removed", 69)),
    Learned(26, "user", "Takes coffee with oat milk and no sugar", "how does she take her coffee"),
    Learned(58, "user", "用户喜欢深色模式", "用户喜欢什么模式", outdated=_was(20, "用户喜欢浅色模式")),
    Learned(29, "user", "Her son Milo was born on 14 May 2019 and plays handball", "when is Milo's birthday?"),
    Learned(53, "user", "Takes no calls between 12 and 14 o'clock", "when should I not call her"),
    # What was decided
    Learned(22, "decision", "Use Postgres for the order service", "which database did we choose",
            why="We query JSON and need row locks"),
    Learned(60, "decision", "Host the shop at Hetzner in Helsinki", "where is the shop hosted, and why?",
            why="Half the price, and the data stays in Europe",
            outdated=_was(11, "Host the shop at AWS in Frankfurt", "overtaken", why="We know it")),
    Learned(49, "decision", "Send mails with Postmark instead of Mailgun", "which mail provider did we pick?",
            why="Mailgun lost a tenth of the order confirmations",
            outdated=_was(13, "Send mails with Mailgun", "overtaken", why="It is the cheapest")),
    Learned(31, "decision", "Write the catalogue search in Rust", "why did we go for Rust",
            why="The Python one needed 900 MB of memory"),
    Learned(36, "decision", "Charge shipping by weight, free from 60 euros on", "from which amount on is shipping free?",
            why="Small orders lose money"),
    Learned(42, "decision", "Keep feature flags in our own database, not in a paid service",
            "where did we decide to keep feature flags", why="Twelve flags need no vendor"),
    Learned(16, "decision", "Set no tracking cookies, so that no banner is needed",
            "what did we decide about tracking cookies?", why="Nobody reads the numbers anyway"),
    Learned(28, "decision", "Paint the kitchen in sage green", "what colour does the kitchen get",
            why="It goes with the oak"),
    Learned(64, "decision", "Take the night train to Lisbon by way of Hendaye", "how do we travel to Lisbon?",
            why="Milo gets sick on planes"),
    Learned(57, "decision", "Wir nehmen den Kachelofen von Brunner", "Für welchen Ofen haben wir uns entschieden?",
            why="Er heizt auch das Wasser"),
    Learned(46, "decision", "Rename the product line Sprout to Seedling", "what is the new name of Sprout",
            why="Sprout is a trade mark of somebody else"),
    Learned(25, "decision", "Use Stripe for cards and Klarna for invoices",
            "what do we use for payment by invoice?", why="Klarna carries the risk"),
    Learned(19, "decision", "Write tests with pytest alone, no unittest classes", "which test framework did we settle on",
            why="Fixtures read better"),
    Learned(73, "decision", "Queue jobs in Postgres and drop Redis", "what do we use for the job queue?",
            why="One thing less to run",
            outdated=_was(23, "Queue jobs with Redis streams", "overtaken", why="It was there already")),
    Learned(68, "decision", "Elegimos el piso de la calle Olmo", "¿Qué piso elegimos?", why="Tiene ascensor y luz"),
    Learned(34, "decision", "Grow the tomatoes in bed four this year", "where do the tomatoes grow",
            why="Bed two had blight"),
    # What is planned
    Learned(52, "plan", "Move into the new warehouse", "what is the plan for the new warehouse",
            steps=("Sign the lease", "Order racks for 300 boxes", "Move the label printer", "Tell the carriers")),
    Learned(63, "plan", "Launch the Dutch storefront", "what is left to do for the Dutch storefront?",
            steps=("Translate the catalogue", "Register for VAT in the Netherlands", "Invite ten test customers")),
    Learned(30, "plan", "Renovate the kitchen", "which steps does the kitchen renovation have",
            steps=("Move the sockets", "Lay the oak floor", "Hang the cupboards", "Paint the walls")),
    Learned(75, "plan", "Organise the handball tournament", "how do we organise the handball tournament?",
            steps=("Book the hall for March", "Write to twelve clubs", "Find two referees")),
    # What was seen
    Learned(20, "observation", "The label printer jams as soon as the humidity is above 70 percent",
            "why does the label printer jam"),
    Learned(27, "observation", "CSV imports of more than 50 MB time out after 30 seconds in nginx",
            "why do large CSV imports fail?"),
    Learned(35, "observation", "Safari drops the cart cookie when a page is opened from the newsletter",
            "in which browser does the cart get lost"),
    Learned(43, "observation", "The test suite is flaky because two tests share port 8099",
            "why is the test suite flaky"),
    Learned(50, "observation", "DHL labels were wrong for streets with umlauts until we sent UTF-8",
            "what was the trouble with umlauts on DHL labels"),
    Learned(59, "observation", "Thumbnails take four seconds each since libvips 8.15", "since when are thumbnails slow?"),
    Learned(72, "observation", "The Dutch tax office wants the EORI number on every invoice",
            "what does the Dutch tax office want on an invoice"),
    # What was said
    Learned(32, "turn", "My sister Adaeze moves to Porto in January", "where does Adaeze move to?",
            answer="How nice! Shall I look for flights in spring?"),
    Learned(37, "turn", "The plumber, Mr Lindqvist, comes on the 23rd in the morning", "when does the plumber come",
            answer="Then the boiler room should be free by the 22nd."),
    Learned(41, "turn", "Rapeseed oil finally got rid of the scale insects on the lemon tree",
            "what helped against scale insects on the lemon tree", answer="Spray once more in two weeks."),
    Learned(48, "turn", "Der Schornsteinfeger will, dass die Klappe bis Oktober getauscht wird",
            "Was will der Schornsteinfeger?", answer="Dann rufe ich diese Woche den Ofenbauer an."),
    Learned(54, "turn", "Jonas says that I must read The Overstory", "which book did Jonas recommend?",
            answer="It is by Richard Powers, 500 pages."),
    Learned(61, "turn", "From now on the band rehearses in the old dairy at Mill Lane", "where does the band rehearse",
            answer="That is ten minutes by bicycle."),
    Learned(65, "turn", "La abuela quiere aprender a usar el correo electrónico", "¿Qué quiere aprender la abuela?",
            answer="Podemos preparar una hoja con letras grandes."),
    Learned(71, "turn", "供应商王先生的仓库在苏州", "王先生的仓库在哪里", answer="从上海坐高铁大约半小时。"),
    Learned(77, "turn", "Milo's new teacher is Mrs Farrokh, and the parents' evening is on 12 November",
            "who is Milo's teacher?", answer="I put the evening into the calendar."),
)  # fmt: skip

HELD_OUT = tuple(one for number, one in enumerate(LEARNED) if number % 2)
TUNED_ON = tuple(one for number, one in enumerate(LEARNED) if not number % 2)

SKILL = (
    "label-printing",
    "Print shipping labels in batches of forty",
    "Feed forty labels, print, let the head cool.",
)

FORUM = "https://forum.example/refunds"
WRONG = "Refunds go to whatever account a customer names in a mail"
"""Read on a page, kept, and taken back three days later."""

_OBSERVED = (
    "The staging database has {n} GB free",
    "Deploy {n} took {m} minutes",
    "Backup of the shop finished in {m} minutes, {n} GB",
    "{n} tests passed, {m} were skipped",
    "The queue holds {n} jobs, the oldest is {m} minutes old",
    "{n} orders came in overnight, {m} of them with an invoice",
    "The warehouse printer needs labels: {m} are left",
    "The greenhouse had {m} degrees at night",
    "{n} mails were sent, {m} bounced",
    "The catalogue has {n} products, {m} without a photo",
    "Certificate of the shop runs for {n} more days",
    "Search answered {n} requests with {m} ms on average",
)
_TOOLS = (
    (
        "terminal",
        "df -h /var/lib/{place}",
        "Filesystem Size Used Avail\n/dev/sda{m} 200G {n}G 80G /var/lib/{place}",
    ),
    ("terminal", "pytest -q tests/{place}", "{n} passed, {m} skipped in {m}.4s"),
    (
        "read_file",
        "docs/{place}.md",
        "# The {place}\nHow the {place} is built, started and repaired, in {n} lines.",
    ),
    (
        "web_search",
        "{place} too slow",
        "Result 1: why your {place} is slow. Result 2: {n} tips for a faster {place}.",
    ),
)
_PLACES = (
    "database", "staging server", "printer", "warehouse", "greenhouse", "kitchen", "newsletter", "catalogue", "invoice",
    "storefront", "test suite", "job queue", "shipping label", "order service", "feature flag", "mail template", "backup",
    "coupon page", "search page", "coffee machine", "night train", "garden shed", "tomato bed", "band room",
)  # fmt: skip
_PEOPLE = (
    "Tomas",
    "Noor",
    "Jonas",
    "Adaeze",
    "Milo",
    "Mrs Farrokh",
    "the accountant",
    "the supplier",
    "Lena",
)
_TALK = (
    ("Can you look at the {place}? It feels slow today.", "The {place} answered in {n} ms; nothing unusual."),
    ("Remind me to call {person} about the {place}.", "I will, at {m} o'clock."),
    ("How many {place} tickets are open?", "{m}, two of them from last week."),
    (
        "Write a short mail to {person} about the {place}.",
        "Done: three sentences, and it asks for an answer by Friday.",
    ),
    ("What is a good way to clean the {place}?", "Warm water and vinegar, and let it dry for {m} hours."),
    (
        "The {place} broke again, same as last time.",
        "I restarted it; the log shows {n} errors since midnight.",
    ),
    ("Translate 'the {place} is ready' into German.", "Fertig zur Abholung, sagt man meistens."),
    ("Which of the two offers for the {place} is cheaper?", "The second one, by {n} euros a year."),
    (
        "Summarise what {person} wrote about the {place}.",
        "They want to know by when the {place} is done, and who pays.",
    ),
    ("Did the {place} change since Monday?", "Two small changes, both by {person}."),
    ("I do not like how the {place} looks.", "Shall I propose {m} alternatives?"),
    ("Plan my afternoon around the {place}.", "One hour for the {place}, then {person}, then a break."),
)
_ALOUD = ("By the way: {text}.", "For later: {text}.", "{text}, just so you know.", "Something new: {text}.")
_ASKED = "I would have to look that up."


class Talk:
    """Everyday noise, the same for the same seed."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def observations(self) -> Iterator[str]:
        while True:
            yield self._filled(self._chance.choice(_OBSERVED))

    def checks(self) -> list[str]:
        """What a nightly check writes: always the same sentences with other numbers."""
        return [self._filled(pattern) for pattern in self._chance.sample(_OBSERVED, 3)] + [
            self._filled(_OBSERVED[0])
        ]

    def exchange(self) -> tuple[str, str]:
        user, assistant = self._chance.choice(_TALK)
        return self._alike(user, assistant)

    def tool_call(self) -> tuple[str, str, str]:
        tool, argument, result = self._chance.choice(_TOOLS)
        return tool, *self._alike(argument, result)

    def title(self) -> str:
        about = self._chance.choice(("Look at the {place}", "{person} and the {place}", "The {place} again"))
        return self._filled(about)

    def said(self, text: str) -> str:
        """A fact as a person says it in passing."""
        return self._chance.choice(_ALOUD).format(text=text)

    def asked(self, question: str, text: str) -> tuple[str, str]:
        """A question that was asked before, answered in passing or not at all."""
        return question, self._chance.choice((_ASKED, f"As far as I know: {text}."))

    def _alike(self, one: str, other: str) -> tuple[str, str]:
        known = self._slots()
        return one.format(**known), other.format(**known)

    def _filled(self, pattern: str) -> str:
        return pattern.format(**self._slots())

    def _slots(self) -> dict[str, object]:
        chance = self._chance
        return {
            "n": chance.randint(20, 900),
            "m": chance.randint(2, 19),
            "place": chance.choice(_PLACES),
            "person": chance.choice(_PEOPLE),
        }
