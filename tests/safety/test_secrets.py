"""Secrets are found and redacted; what only looks like one is left alone.

All secrets here are drawn when the tests run, from the benchmark's generator: none is in the repository.
"""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import pairwise

import pytest
from benchmarks.secrets import (
    AROUND,
    TOKENS,
    TOLD,
    adversarial,
    draw,
    fakes,
    is_found,
    ordinary_lines,
    password,
)
from gitmem.safety.secret_values import SecretFinds, compiled
from gitmem.safety.secrets import Secret, find, prefix_pattern, prefixes_of_tokens, redact, token_shapes
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.safety.growth import growth

ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def token(seed: int = 0) -> str:
    """A token of a well-known shape."""
    return "gh" + "p_" + draw(random.Random(seed), ALNUM, 36)


def test_a_find_says_kind_and_place() -> None:
    """The span is the secret itself, without what stands around it."""
    text = f"use {token()}, please"
    assert find(text) == [Secret("github-token", 4, 4 + len(token()))]


def test_finds_are_in_order_and_apart() -> None:
    """Several secrets in one text, one of them inside a URL."""
    text = f"{token(1)} https://x:{token(2)}@acme.io password: Tr0ub4dor&3 {token(3)}"
    found = find(text)
    assert [secret.kind for secret in found] == ["github-token", "github-token", "password", "github-token"]
    assert all(left.end < right.start for left, right in pairwise(found))


def test_redaction_keeps_kind_and_last_four() -> None:
    """What is left is enough to know which one it was."""
    assert redact(f"key {token()}!") == f"key [redacted github-token …{token()[-4:]}]!"


def test_redaction_of_a_short_secret_keeps_nothing() -> None:
    """Four of eight characters would be half of it."""
    assert redact("the password is hunter2!") == "the password is [redacted password]!"


def test_a_private_key_goes_as_a_whole() -> None:
    """Header, body and footer, also when it is cut off in the middle."""
    key = TOKENS["private key"](random.Random(3))
    assert find(f"a\n{key}\nb") == [Secret("private-key", 2, 2 + len(key))]
    body = key.replace("\\n", "\n").rsplit("\n", 2)[0]
    assert "PRIVATE" not in redact(body)
    assert redact(key).startswith("[redacted private-key …")


def test_a_url_keeps_its_host() -> None:
    """Only the password goes."""
    assert (
        redact("postgres://app:s3cr3tPw9xQ@db:5432/x") == "postgres://app:[redacted url-password]@db:5432/x"
    )


@pytest.mark.parametrize("kind", [*TOKENS, *TOLD])
def test_each_kind_is_found(kind: str) -> None:
    """At least nine of ten, whatever stands around them."""
    made = [each for each in fakes(7, 20) if each[0] == kind]
    assert len(made) == 20
    assert sum(is_found(secret, text) for _, secret, text in made) >= 18


@pytest.mark.parametrize(
    "text",
    [
        "",
        "User prefers tea.",
        # hashes, ids, versions
        "md5 d41d8cd98f00b204e9800998ecf8427e",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b fixes it",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "id 550e8400-e29b-41d4-a716-446655440000",
        "datadog trace id 4bf92f3577b34da6a3ce929d0e0e4736",
        "cache key: 3f786850e387550fdab836ed7e6dc881de23001b",
        "page token 550e8400-e29b-41d4-a716-446655440000",
        "password hash: 5f4dcc3b5aa765d61d8327deb882cf99",
        "requests==2.32.3, numpy>=1.26.4,<3",
        "integrity sha512-" + "Ab3" * 20,
        # placeholders and references
        "api_key = <your-key>",
        "OPENAI_API_KEY=sk-...",
        "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "password: changeme",
        "password: xxxxxxxx",
        "password = ${DB_PASSWORD}",
        "password=$DB_PASSWORD1",
        "token: {{ vault_token1 }}",
        "secret = os.environ['SECRET_KEY_1']",
        "const apiKey = process.env.API_KEY2",
        "aws_access_key_id = " + "AKIA" + "IOSFODNN7EXAMPLE",
        "postgres://user:password@localhost/db and postgres://postgres:postgres@db/x",
        "https://user:<password>@host, https://${USER}:${PASS}@host",
        "Authorization: Bearer <token>",
        "Authorization: Basic <credentials>",
        "token = get_token(user1)",
        "password = hash_password(pw1)",
        "password=settings.DB_PASSWORD2",
        # public keys
        "ssh-rsa " + "AAAAB3NzaC1yc2EAAAADAQABAAABgQ" + "C7x" * 40 + " maria@laptop",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "Gx9" * 14 + " me@host",
        "-----BEGIN PUBLIC KEY-----\n" + "MIIBIjANBgkqhkiG9w0B" * 8 + "\n-----END PUBLIC KEY-----",
        "pk_live_" + "aB3" * 8,
        # talk about secrets
        "The password is required and must be at least 8 characters long.",
        "password is 8-character minimum; the token is base64-encoded",
        "Passwords are hashed with argon2id; tokens expire after 15min",
        "Set the API key in settings, the secret is stored in Vault.",
        "password: string, token: str, secret: SecretStr",
        "max_tokens=4096, token_count: 128000, tokenizer: cl100k_base",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "the key is under the mat; password protected pages; secret santa 2024",
        # the same in other languages
        "Das Passwort ist erforderlich und muss mindestens 8 Zeichen haben.",
        "Das Passwort ist 12-stellig; Passwort für den Server: siehe Tresor",
        "Der Schlüssel liegt unter der Matte. API-Schlüssel stehen in Vault.",
        "Das Kennwort wurde auf Wunsch zurückgesetzt, Zugangsdaten: auf Anfrage",
        "La contraseña es obligatoria; la contraseña del usuario es privada",
        "palabras clave: web2.0, python3, k8s-operador",
        "La clave primaria de la tabla es user_id2; clave: valor",
        "contraseña a más tardar el viernes",
        "Le mot de passe est requis, 8 caractères au minimum.",
        "le mot de passe du compte est dans le coffre-fort",
        "La clé est sous le paillasson, la clé API est dans Vault",
        "An MDP has states and actions; the MDP is 3x3-sized",
        # cookies, hashes and keys that are none
        "Cookie: theme=dark; lang=en-US; consent=2026-11-16",
        "Set-Cookie: sid=<session-id>; Path=/; Max-Age=3600",
        "we bake cookies: oatmeal=12, chocolate=24",
        "docker build -b feature=one",
        "sig=<signature>&se=2027",
        "$2y$10$examplexamplexamplexamplexamplexamplexamplexamplexamplex",
        "use {SHA} or {SSHA} in the directory; $6$salt$hash is the layout",
        "ssh host key fingerprint 16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48",
        "signing key 3f786850e387550fdab836ed7e6dc881de23001b",
        "transaction 0x" + "3f786850e387550fdab836ed7e6dc881" * 2,
        "MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJRTESMBAGA1UEChMJQmFsdGltb3Jl",
        "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun",
        "machine learning login flow password reset",
        "password: |\n  required\n",
        # paths and addresses
        "secret: /run/secrets/db_password1",
        "private_key: ~/.ssh/id_ed25519",
        "key file at C:\\Users\\maria\\keys\\id_rsa2",
        "http://user@host/path and maria@acme.io:inbox",
        "git@github.com:acme/x1y2z3.git",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    """Hashes, ids, placeholders, references, public keys, prose."""
    assert find(text) == []
    assert redact(text) == text


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        '"{}"',
        "`{}`",
        "({})",
        "a={}&b=1",
        "a={};b=1",
        "x,{},y",
        "{}.",
        "\\n{}\\n",
        "https://x.io/?t=%3D{}",
        "\t{}\r\n",
    ],
)
def test_what_stands_around_a_token_does_not_matter(around: str) -> None:
    """Quotes, URLs, lists, escapes."""
    assert redact(around.replace("{}", token())) == around.replace(
        "{}", f"[redacted github-token …{token()[-4:]}]"
    )


FRAGMENTS = st.sampled_from(
    [
        *prefixes_of_tokens(),
        *(
            "password",
            "passwd: ",
            " is ",
            "=",
            ": ",
            "api_key",
            "token",
            "secret ",
            "key",
            "for the x",
            "'",
            '"',
            "`",
        ),
        *(
            "://",
            "a:b",
            "@",
            "/",
            "?",
            "&",
            ",",
            ";",
            ".",
            "-",
            "_",
            " ",
            "\n",
            "\\n",
            "Bearer ",
            "Basic ",
            "--",
        ),
        *("Tr0ub4dor&3", "hunter2!", "abc123DEF456", "x7Kp2mQe9Lz4", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
        *(
            "[redacted ",
            "password …1a2b]",
            "[redacted token …",
            "…",
            "]",
            "[redacted jwt …1a2b]",
            " is the password",
        ),
        *(
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            "\ud800",
            "\u0130",
            "\0",
            "密码",
            "creds: a / ",
        ),
        *token_shapes()["vendors"][:4],
    ]
)
TANGLES = st.lists(st.one_of(FRAGMENTS, st.text(max_size=4)), max_size=20).map("".join)


@given(TANGLES)
@settings(max_examples=400, deadline=None)
def test_redaction_is_idempotent(text: str) -> None:
    """Redacting the result changes nothing; no text raises; spans are apart and inside."""
    found = find(text)
    assert all(0 <= each.start < each.end <= len(text) for each in found)
    assert all(left.end <= right.start for left, right in pairwise(found))
    once = redact(text)
    assert redact(once) == once
    assert find(once) == []


@given(st.integers(min_value=0, max_value=10**9))
@settings(max_examples=100, deadline=None)
def test_redacted_fakes_stay_redacted(seed: int) -> None:
    """The same for whole secrets beside each other, and for values behind keys."""
    rng = random.Random(seed)
    parts = [text for _, _, text in rng.sample(fakes(seed, 1), 6)]
    once = redact(rng.choice([" ", "\n", ",", "", "/"]).join(parts))
    assert redact(once) == once
    said = f"password: {password(rng)}\ntoken: {rng.choice(AROUND).replace('{}', token(seed))}"
    assert redact(redact(said)) == redact(said)


def test_recall_of_the_benchmark() -> None:
    """At least nine of ten generated fakes of all kinds."""
    made = fakes(11, 10)
    assert len({kind for kind, _, _ in made}) >= 30
    assert sum(is_found(secret, text) for _, secret, text in made) >= 0.9 * len(made)


def test_ordinary_lines_are_not_flagged() -> None:
    """At most one in a thousand."""
    lines = ordinary_lines()
    if lines is None:
        pytest.skip("../shared/data/scanner-dev.jsonl is not there")
    assert sum(bool(find(line)) for line in lines) <= 0.001 * len(lines)


def test_every_rule_can_match() -> None:
    """No pattern in the tables is broken, none has a prefix of another kind twice."""
    prefixes = [prefix for _, all_of_them, _ in token_shapes()["prefixes"] for prefix in all_of_them.split()]
    assert len(prefixes) == len(set(prefixes))
    for prefix, (_, rest) in prefixes_of_tokens().items():
        assert prefix_pattern(prefix, rest)
    for _, _, shape in token_shapes()["shapes"]:
        assert compiled(shape)


def test_lower_case_keeps_every_place() -> None:
    """Spans are found in lower case and taken from the text."""
    text = "".join(map(chr, range(sys.maxunicode + 1)))
    assert len(SecretFinds(text).low) == len(text)


def test_importing_compiles_nothing() -> None:
    """Start-up is a feature: patterns are compiled when they are needed."""
    before = "import dataclasses, re, typing, unicodedata, gitmem.safety; re.compile = None"
    code = f"{before}; import gitmem.safety.secrets, gitmem.safety.fence"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_shape_takes_more_than_linear_time() -> None:
    """Twenty times the text takes about twenty times the time; a square would be four hundred."""
    for text in adversarial()[::31]:
        assert growth(find, text[:40_000]) < 100, text[:24]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("my card is 4242 4242 4242 4242, exp 12/27", "payment-card"),
        ("4111111111111111", "payment-card"),
        ("charge 3782-822463-10005 again", "payment-card"),
        ("legal winner thank year wave sausage worth useful legal winner thank yellow", "seed-phrase"),
        ("Words, in order: letter, advice, cage, absurd, amount, doctor, acoustic, avoid, "
         "letter, advice, cage, above.", "seed-phrase"),
        ("1. legal\n2. winner\n3. thank\n4. year\n5. wave\n6. sausage\n7. worth\n8. useful\n9. legal\n"
         "10. winner\n11. thank\n12. yellow", "seed-phrase"),
    ],
)  # fmt: skip
def test_what_pays_is_a_secret(text: str, kind: str) -> None:
    """Numbers of payment cards, and wallet phrases whatever is said about them."""
    assert [kind] == [secret.kind for secret in find(text)]


@pytest.mark.parametrize(
    "text",
    [
        "order 4242424242424243",
        "at 1700000000000000 ns",
        "ISBN 9783161484100",
        "/var/4111111111111111/log",
        "python rust golang java ruby perl scala kotlin swift dart julia elixir",
        "legal winner thank year wave sausage worth useful legal winner thank year",
        "word " * 100,
    ],
)
def test_other_numbers_and_words_pay_nothing(text: str) -> None:
    """A wrong check digit, another kind of number, words of no wallet."""
    assert [] == find(text)


@pytest.mark.parametrize(
    "number", ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "NO93 8601 1117 947"]
)
def test_a_bank_account_is_found_where_it_is_asked_for(number: str) -> None:
    """By its check digits; without being asked for it is no secret."""
    text = f"Rent is paid to {number}, monthly."
    assert [] == find(text)
    assert [Secret("iban", 16, 16 + len(number))] == find(text, ibans=True)
    assert number not in redact(text, ibans=True)
    assert [] == find(text.replace("9", "7", 1).replace("8", "9", 1), ibans=True)


@pytest.mark.parametrize("password", ["hunter2-hunter2", "correct-horse-battery-staple-9"])
def test_nothing_of_a_password_is_shown(password: str) -> None:
    """Four characters of what a person can remember are too much of it."""
    assert "the password is [redacted password]" == redact(f"the password is {password}")
