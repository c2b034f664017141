"""What a task leaves behind holds no secret that stands beside its name."""

import pytest

from holdfast.in_task.secrets_out import without_secrets

MARK = "«redacted»"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("login failed: password=hunter2", f"login failed: password={MARK}"),
        ("{'db_password': 'a b', 'x': 1}", "{'db_password': '" + MARK + "', 'x': 1}"),
        ('"token": "abc', '"token": "' + MARK),
        ("WANDB_API_KEY = k1 then", f"WANDB_API_KEY = {MARK} then"),
        ("run --token abc --steps 3", f"run --token {MARK} --steps 3"),
        ("https://me:pw@host/x?y=1", f"https://{MARK}@host/x?y=1"),
        ("Authorization: Bearer abc.def", f"Authorization: Bearer {MARK}"),
        ("key=value and step: 3", "key=value and step: 3"),
        ("the password is wrong", "the password is wrong"),
        ("mail me@host.org", "mail me@host.org"),
        ("password=", "password="),
        ("", ""),
    ],
)
def test_a_value_beside_a_telling_name_is_taken_out(text: str, left: str) -> None:
    assert without_secrets(text) == left
