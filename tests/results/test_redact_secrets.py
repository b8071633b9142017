"""A sample of each kind of secret that detect-secrets 1.5 knows: none is published, whatever stands
around it.

The samples are made here, and put together from parts so that no scanner takes this file for a
leak.
"""

import random
import string

import pytest
from support.corpus import each

from compat.results.redact import redacted

_random = random.Random(11)
HEX, LOWER, UPPER = "0123456789abcdef", string.ascii_lowercase, string.ascii_uppercase
MIXED = string.ascii_letters + string.digits


def drawn(signs: str, count: int) -> str:
    """So many signs, and at least one digit when there are digits among them."""
    text = "".join(_random.choice(signs) for _ in range(count - 1))
    return text + ("7" if "7" in signs else signs[0])


def block(kind: str) -> str:
    dashes = "-" * 5
    body = "\n".join(drawn(MIXED + "+/", 64) for _ in range(3))
    head = f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{drawn(HEX, 32)}\n"
    return f"{dashes}BEGIN {kind}{dashes}\n{head}\n{body}\n{dashes}END {kind}{dashes}"


def jwt() -> str:
    return "eyJ" + drawn(MIXED, 33) + "." + "eyJ" + drawn(MIXED, 40) + "." + drawn(MIXED + "_", 43)


# Of each kind: a text with {} for the secret, and the secret.
SAMPLES = {
    "Artifactory": [
        ("artifactory: {}", "AKC" + drawn(MIXED, 20)),
        ("x ={} y", "AP5" + drawn(MIXED, 20)),
    ],
    "AWS": [
        *(
            (f"id {start}{{}}", drawn(UPPER + "234567", 16))
            for start in ("AKIA", "ASIA", "ABIA", "A3TX")
        ),
        ("aws_secret_access_key = '{}'", drawn(MIXED + "/+", 40)),
        ("aws_session_token: {}", drawn(MIXED + "/+", 40)),
    ],
    "Azure Storage": [
        ("DefaultEndpointsProtocol=https;AccountKey={};Endpoint", drawn(MIXED + "+/", 86) + "==")
    ],
    "Basic Auth": [
        ("https://jane:{}@index.example/simple", "hunter" + "2(!)"),
        ("redis://:{}@cache:6379/0", "hunter" + "3"),
    ],
    "Cloudant": [
        ("cloudant_password = {}", drawn(HEX, 64)),
        ("cl_api_key: '{}'", drawn(LOWER, 24)),
        ("https://jane:{}@jane.cloudant.com", drawn(LOWER, 24)),
    ],
    "Discord": [("{}", f"M{drawn(MIXED, 23)}.{drawn(MIXED, 6)}.{drawn(MIXED + '-_', 27)}")],
    "GitHub": [("{}", f"gh{kind}_{drawn(MIXED, 36)}") for kind in "pousr"],
    "GitLab": [
        *(
            ("{}", f"gl{kind}-{drawn(MIXED, 20)}")
            for kind in ("pat", "dt", "ft", "soat", "rt", "imt", "ptt")
        ),
        ("{}", "glcbt-" + f"1a_{drawn(MIXED, 20)}"),
        ("{}", "GR1348941" + drawn(MIXED, 20)),
    ],
    "IBM Cloud IAM": [
        ("ibm_cloud_iam_api_key={}", drawn(MIXED + "_-", 44)),
        ('"iam-apikey": "{}"', drawn(MIXED, 44)),
    ],
    "IBM COS HMAC": [
        ("cos_hmac_secret_access_key = {}", drawn(HEX, 48)),
        ("secret_key: '{}'", drawn(HEX, 48)),
    ],
    "JWT": [("{}", jwt()), ("token={}&x", jwt())],
    "Keyword": [
        *(
            (f"{word} = '{{}}'", drawn(MIXED, 9))
            for word in ("db_password", "PRIVATE_KEY", "my-api-key", "pwd")
        ),
        *(
            (f"{word}: {{}}", drawn(MIXED, 9))
            for word in ("password", "service_key", "contraseña", "secret")
        ),
        ('{{"database_pass": "{}"}}', drawn(MIXED, 9)),
        ('secret("{}")', drawn(MIXED, 9)),
        ('secret.assign("{}",17)', drawn(MIXED, 9)),
        ("my_password := '{}'", drawn(MIXED, 9)),
        ('my_password => "{}"', drawn(MIXED, 9)),
        ('char password[25] = "{}";', drawn(MIXED, 9)),
        ('if ("{}" == my_password_secure) {{', drawn(MIXED, 9)),
        ("assert '{}' != user.password", drawn(MIXED, 9)),
        ('private_key "{}";', drawn(MIXED, 9)),
    ],
    "Mailchimp": [("key {}", f"{drawn(HEX, 32)}-us12")],
    "npm": [
        ("//packages.example.org/:_authToken={}", "npm_" + drawn(MIXED, 36)),
        (
            "//packages.example.org/:_authToken={}",
            "-".join(drawn(HEX, n) for n in (8, 4, 4, 4, 12)),
        ),
    ],
    "OpenAI": [
        ("{}", f"sk-{start}{drawn(MIXED, 20)}T3Blbk" + f"FJ{drawn(MIXED, 20)}")
        for start in ("", "proj-shop-")
    ],
    "Private Key": [
        *(
            ("key:\n{}\nend", block(f"{kind}PRIVATE KEY"))
            for kind in ("RSA ", "DSA ", "EC ", "OPENSSH ", "")
        ),
        ("{}", block("SSH2 ENCRYPTED PRIVATE KEY")),
        ("{}", block("PGP PRIVATE KEY BLOCK")),
        (
            "{}",
            (
                "PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines:"
                f" 1\n{drawn(MIXED, 60)}\nPrivate-MAC: {drawn(HEX, 39)}"
            ),
        ),
    ],
    "PyPI": [
        ("{}", "pypi-AgEIcHlwaS5v" + f"cmc{drawn(MIXED, 80)}"),
        ("{}", "pypi-AgENdGVzdC5w" + f"eXBpLm9yZw{drawn(MIXED, 80)}"),
    ],
    "SendGrid": [("{}", f"SG.{drawn(MIXED, 22)}.{drawn(MIXED + '_-', 43)}")],
    "Slack": [
        ("{}", f"xoxb-{drawn(string.digits, 12)}-{drawn(LOWER, 24)}"),
        (
            "https://hooks.slack.com/services/{}",
            f"T{drawn(MIXED, 8)}/B{drawn(MIXED, 8)}/{drawn(MIXED, 24)}",
        ),
    ],
    "SoftLayer": [
        ("softlayer_api_key = {}", drawn(LOWER + "7", 64)),
        ("https://api.softlayer.com/soap/v3.1/{}", drawn(LOWER + "7", 64)),
    ],
    "Square OAuth": [("{}", f"sq0csp-{drawn(MIXED + '-_', 43)}")],
    "Stripe": [("{}", f"{kind}k_live_{drawn(MIXED, 24)}") for kind in "rs"],
    "Telegram": [
        (
            "https://api.telegram.org/bot{}/getMe",
            f"1{drawn(string.digits, 9)}:{drawn(MIXED + '_-', 35)}",
        )
    ],
    "Twilio": [("{}", f"AC{drawn(HEX, 32)}"), ("{}", f"SK{drawn(HEX, 32)}")],
    "Hex high entropy": [("f('{}')", drawn(HEX, 32)), ("{}", drawn(HEX, 40))],
    "Base64 high entropy": [('f("{}")', "aB3/" + "".join(_random.sample(MIXED, 44)))],
    "Public IP": [
        ("{}:5432", "93.184." + "216.34"),
        ("host='{}'", "93.184." + "216.34"),
        ("{{'REMOTE_ADDR': '{}'}}", "93.184." + "216.34"),
        ("no route to host {}", "93.184." + "216.34"),
    ],
}
AROUND = ["{}", "E   AssertionError: {}", "    x = [{}, 1]", "\tsaid `{}`, and ended"]
CASES = [
    (kind, *sample, around)
    for kind, samples in SAMPLES.items()
    for sample in samples
    for around in AROUND
]


@each("kind, text, secret, around", CASES, ids=str)
def test_no_secret_is_left(kind: str, text: str, secret: str, around: str) -> None:
    left = redacted(around.format(text.format(secret)))
    for part in filter(None, secret.replace("Proc-Type: 4,ENCRYPTED", "").splitlines()):
        assert part not in left, kind
    # Neither is its half.
    assert secret[len(secret) // 2 :] not in left, kind


@pytest.mark.parametrize(
    "line",
    [
        "def login(username, password):",
        "TypeError: login() got an unexpected keyword argument 'password'",
        "KeyError: 'secret'",
        (
            "E   jinja2.exceptions.TemplateSyntaxError: expected token 'end of print statement',"
            " got 'x'"
        ),
        (
            "E       AssertionError: assert 'test_the_quick_brown_fox_jumps_over' =="
            " 'application/x-www-form-urlencoded'"
        ),
        "pandas/_libs/interval.pyx:1: in init pandas._libs.interval",
        "numpy 1.2.3.4 and 'pkg==4.21.0.0', Version('1.2.3.4')",
        "Requires-Dist: keyring >=23; tokenize, monkeypatch, passed, bypass=1",
        "'CamelCaseNameOfAClassThatIsLong' in 'tests/test_application_of_everything_2.py'",
        "3 passed, 1 skipped in 0.12s; author='jane'; keywords=['a', 'b']",
    ],
)
def test_code_that_speaks_of_secrets_stays_as_it_is(line: str) -> None:
    assert redacted(line) == line
