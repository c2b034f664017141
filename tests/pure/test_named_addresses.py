"""What is said of a cluster of which a user has named some addresses, and no definition."""

from typing import Any

from tests.pure.test_path_causes import A, B, blind, found, look

from holdfast.diagnose import diagnose
from holdfast.model.evidence import Evidence
from holdfast.model.facts import SpecRead


def test_addresses_that_a_user_names_may_not_be_all_of_the_cluster() -> None:
    """All may wait for one that was not named; whom they wait for is said to be unknown."""
    facts = (look(A, "answered"), look(B, "answered"), blind(A), blind(A, 7), blind(B), blind(B, 7))
    cluster = {"worker": {"0": "10.0.0.1:2222", "1": "10.0.0.2:2222"}}
    where: dict[str, Any] = {"at_s": 0.0, "host": "h", "cluster": cluster, "index": "0"}
    named = SpecRead(**where, source="the command line", role="evaluator", bare=True)
    assert found(named, *facts) == []
    unknown = diagnose(Evidence([named, *facts])).unknown
    assert any(text.startswith("for whom worker:0 and worker:1 wait: name all") for text in unknown)
    whole = SpecRead(**where, task=A, source="tf_config.json", role="worker")
    assert found(whole, *facts) == [("error", "partition", "None")]
