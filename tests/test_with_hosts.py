"""`Scenario.with_hosts`: hosts of today in the place of those that a scenario was written with."""

from __future__ import annotations

import json
from typing import Any

import pytest

import penstock as ps
from conftest import ROOT
from penstock.evaluation import rfc
from penstock.evaluation.evaluate import chosen
from penstock.evaluation.real import on_real_packets
from penstock.model.hosts import HOSTS

SCENARIOS = ROOT / "scenarios"
#: With other controls than Reno's, under profiles of their own, with pages and datagrams, in a graph.
FILES = ("dualpi2", "hosts", "sfq", "load-rises", "rfc7928/background", "rfc7928/mix", "rfc7928/series")

MECN = """
profile = "ns-2"
duration = "2 s"
aqm = { kind = "amecn", codepoints = "literal" }
topology.bottleneck = { rate = "1.5 Mbit/s", delay = "40 ms", buffer = 40 }
traffic = [
    { kind = "ftp", flows = 2, tcp = "reno", window = 20, ecn = "mecn", incipient = "hold", beta1 = 0.1 },
    { kind = "cbr", rate = "1 Mbit/s" },
]
"""


@pytest.mark.parametrize("hosts", HOSTS)
@pytest.mark.parametrize("file", FILES)
def test_only_connections_change(file: str, hosts: str) -> None:
    usual = ps.Scenario.load(SCENARIOS / f"{file}.toml")
    made = usual.with_hosts(hosts)
    before, after = usual.resolved, made.resolved
    for old, new in zip(before.pop("traffic"), after.pop("traffic"), strict=True):
        assert "tcp" in old or old == new
        kept = ("kind", "name", "flows", "start", "bytes", "object", "segment", "ecn", "access_delay")
        assert [old.get(key) for key in kept] == [new.get(key) for key in kept]
    assert before == after
    assert made.with_hosts(hosts).resolved == made.resolved
    assert ps.Scenario.from_toml(made.to_toml()).resolved == made.resolved


@pytest.mark.parametrize("hosts", HOSTS)
def test_a_connection_is_what_its_profile_says(hosts: str) -> None:
    """Of an entry that says nothing of its hosts, every key is as under the profile, whichever it had before."""
    said = 'duration = "2 s"\ntopology.bottleneck = { rate = "9 Mbit/s", delay = "9 ms", buffer = 40 }\n'
    said += 'traffic = [{ kind = "ftp", segment = "1000 B", header = "40 B" }]'

    def entry(made: ps.Scenario) -> dict[str, Any]:
        (found,) = made.resolved["traffic"]
        return dict(found)

    theirs = entry(ps.Scenario.from_toml(f'profile = "{hosts}"\n{said}'))
    for profile in ("rfc", "ns-2", *HOSTS):
        made = entry(ps.Scenario.from_toml(f'profile = "{profile}"\n{said}').with_hosts(hosts))
        # A quiet key may be named with its general default where the scenario's profile has another.
        assert {key: made[key] for key in theirs} == theirs, profile


def test_what_the_papers_are_about_stays() -> None:
    usual = ps.Scenario.from_toml(MECN)
    made = usual.with_hosts("linux")
    (before, _), (after, _) = usual.resolved["traffic"], made.resolved["traffic"]
    kept = {"ecn": "mecn", "incipient": "hold", "beta1": 0.1, "segment": "1000 B", "codepoints": "literal"}
    assert {key: after[key] for key in kept} == kept
    theirs = {"tcp": "cubic", "recovery": "rack", "window": 11586, "initial_window": 10, "delayed_ack": True}
    assert {key: after[key] for key in theirs} == theirs
    assert (after["loss_recovery"], after["header"]) == ("rfc", "40 B")
    assert (before["tcp"], before["window"], before["loss_recovery"]) == ("reno", 20, "ns-2")
    assert (ps.run(made).runs[0].metrics["utilization"] or 0) > 0.9


def test_a_control_other_than_renos_stays() -> None:
    made = ps.Scenario.load(SCENARIOS / "rfc7928/background.toml").set("traffic.1.ledbat_target", "9 ms")
    for hosts in HOSTS:
        tcp, ledbat = made.with_hosts(hosts).resolved["traffic"]
        assert (tcp["tcp"], ledbat["tcp"], ledbat["ledbat_target"]) == ("cubic", "ledbat", "9 ms")
        assert tcp["initial_window"] == ledbat["initial_window"] == 10


def test_other_hosts_are_none() -> None:
    with pytest.raises(ps.Error, match="no profile of hosts is called 'linx'; nearest: linux; there are: linux, quic"):
        ps.Scenario.from_toml(MECN).with_hosts("linx")


def test_the_rfc_keeps_the_senders_that_it_names() -> None:
    hosts = {each.key: each.hosts for each in rfc.EXPERIMENTS}
    assert {key for key, of in hosts.items() if of == "rfc"} == {
        each.key for each in rfc.EXPERIMENTS if each.section.startswith("5.")
    }
    assert {of for of in hosts.values() if of != "rfc"} == {"linux"}
    assert {each.hosts for each in chosen((), quick=False, hosts="quic")} == {"quic"}
    (mild,) = chosen(["mild"], quick=False, hosts="rfc")
    assert mild.scenario(mild.variants[0]).resolved == ps.Scenario.load(mild.file).resolved
    with pytest.raises(ps.Error, match="rfc, linux, quic"):
        chosen((), quick=False, hosts="bsd")


def test_a_form_asks_about_what_it_changes() -> None:
    """Initial windows of 3 and 10 are 5.1.2's question, whosever the hosts are."""
    (short,) = chosen(["friendly-short"], quick=False, hosts="linux")
    made = [short.scenario(variant).resolved["traffic"][1] for variant in short.variants]
    assert [each["initial_window"] for each in made] == [3, 3, 3, 10, 10, 10]
    assert {each["tcp"] for each in made} == {"cubic"}


def test_on_real_packets_hosts_are_the_kernel_s() -> None:
    """A buffer for a window that nobody asks for would hold a kernel's own back."""
    mild = on_real_packets(rfc.experiment("mild"))
    assert mild.resolved["traffic"][0]["tcp"] == "cubic"
    written = mild.to_toml()
    assert 'profile = "linux"' in written
    assert "window" not in written
    with pytest.raises(ps.ScenarioError, match="real packets"):
        ps.evaluate(["red"], hosts="quic", real=True)


def test_the_list_says_whose_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    from penstock.cli import main

    main(["evaluate", "--list", "--json", "--hosts", "quic"])
    assert {each["hosts"] for each in json.loads(capsys.readouterr().out)["scenarios"]} == {"quic"}
