"""Emitted scripts on a machine with kernel OpenZFS that has neither zlang nor Python; zlang reads what they leave."""

from __future__ import annotations

from command_line import Zlang
from vm.guest import Guest


def carry_out(guest: Guest, zlang: Zlang, program: str) -> None:
    """Plan outside, run the script inside, bring the run folder out, and build the database from it."""
    zlang("plan", zlang.program(program), "--emit", "sh", "--out", "script")
    guest("mkdir -p /var/tmp/here")
    guest.put(zlang.at / "script", "/var/tmp/here/script")
    guest("! command -v python3 zlang && cd /var/tmp/here && sh script/plan.sh")
    guest.get("/var/tmp/here/runs", zlang.at / "runs")
    zlang("ingest", "runs")
