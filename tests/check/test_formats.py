"""What machines read: JSON, SARIF, JUnit and GitHub's workflow commands."""

import json
import os
import stat
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema

Check = Any
SARIF = json.loads(Path(__file__).with_name("sarif_subset.json").read_text())
CUT = '{"cluster": {\n  "worker": ["a:1",]}}'
GOOD = json.dumps({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}})


def test_json_is_the_one_report_and_the_categories(check: Check) -> None:
    check.write("cut.json", CUT)
    done = check.json("--offline", "cut.json")
    assert done.report["schema"] == "holdfast.report/1"
    assert done.report["verdict"] == "sick"
    assert done.report["check"][0]["category"] == "Definition"
    assert done.state("Definition") == "error"
    assert done.state("Host") == "unknown"
    assert {row["state"] for row in done.report["check"]} <= {"ok", "warning", "error", "unknown"}


def test_sarif_is_valid_and_points_at_the_place(check: Check) -> None:
    check.write("a b,c.json", CUT)
    done = check("--offline", "--format", "sarif", "a b,c.json")
    assert done.code == 3
    jsonschema.validate(done.report, SARIF)
    run = done.report["runs"][0]
    (result,) = run["results"]
    assert result["ruleId"] == "spec-unreadable"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "spec-unreadable"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b%2Cc.json"}
    assert place["region"]["startLine"] == 2
    check.write("good.json", GOOD)
    calm = check("--offline", "--format", "sarif", "good.json")
    jsonschema.validate(calm.report, SARIF)
    assert (calm.code, calm.report["runs"][0]["results"]) == (0, [])


def test_junit_has_a_case_for_each_category(check: Check) -> None:
    check.write("cut.json", CUT)
    done = check("--offline", "--format", "junit", "cut.json")
    suite = ET.fromstring(done.out).find("testsuite")
    assert suite is not None
    assert (suite.get("failures"), done.code) == ("1", 3)
    case = suite.find("testcase[@name='Definition']")
    assert case is not None
    failure = case.find("failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith("spec-unreadable: cut.json")
    host = suite.find("testcase[@name='Host']")
    assert host is not None
    assert host.find("skipped") is not None


def test_without_junitparser_it_says_what_to_install(check: Check) -> None:
    (check.place / "junitparser.py").write_text("raise ImportError('not here')")
    done = check("--offline", "--format", "junit", "a:1", env={"PYTHONPATH": str(check.place)})
    assert done.code == 66
    assert "try: pip install 'holdfast[ci]'" in done.err


def test_github_commands_are_escaped(check: Check) -> None:
    check.write("a,b:50%.json", CUT)
    done = check("--offline", "--format", "github", "a,b:50%.json")
    (line,) = done.out.splitlines()
    assert line.startswith("::error file=a%2Cb%3A50%25.json,line=2,col=")
    assert ",title=spec-unreadable::a,b:50%25.json" in line


def test_a_record_keeps_all_facts_and_is_judged_like_the_check_itself(check: Check) -> None:
    check.write("cut.json", CUT)
    first = check.json("--offline", "--record", "a.facts", "cut.json")
    kept = check.place / "a.facts"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    before = kept.read_bytes()
    again = check("--offline", "--record", "a.facts", "cut.json")
    assert (again.code, kept.read_bytes()) == (73, before)
    assert "a.facts is there already" in again.err
    judged = check.json("a.facts")
    assert (judged.code, judged.causes) == (first.code, first.causes)
    assert judged.state("Host") == "unknown"


def test_records_of_several_hosts_are_judged_together(check: Check) -> None:
    for host, port in (("host-a", 2222), ("host-b", 2223)):
        workers = ["host-a:2222", f"host-b:{port}", "host-c:2222"]
        index = ("host-a", "host-b").index(host)
        spec = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
        made = check("--offline", "--record", f"{host}.raw", env={"TF_CONFIG": json.dumps(spec)})
        assert made.code == 0, made.out
        raw = (check.place / f"{host}.raw").read_text()
        here = f'"host":"{os.uname().nodename}"'
        assert here in raw
        check.write(f"{host}.facts", raw.replace(here, f'"host":"{host}"'))
    done = check.json("host-a.facts", "host-b.facts")
    assert done.code == 3
    assert done.causes == {"spec-differs"}
    text = check("host-a.facts", "host-b.facts").out
    assert "host-a: TF_CONFIG  host-b: TF_CONFIG" in text


def test_a_record_that_cannot_be_written_is_told(check: Check) -> None:
    done = check("--offline", "--record", "no/such/dir/a.facts", "a:1,b:1")
    assert done.code == 74
    assert "cannot be written" in done.err
