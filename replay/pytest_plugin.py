"""A pytest fixture that turns a capture into a regression test.

def test_the_incident_does_not_come_back(replay_session, broker_url):
    replay_session("incident.pcap", to=broker_url, prefix="test.").assert_same()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from replay.report import Report


class ReplayedSession:
    """A replay that was run; ``report`` says all about it."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def assert_same(self) -> None:
        """Fails the test with the report unless the live peer did as captured."""
        from replay.report import SAME, as_text

        if self.report.exit_code != SAME:
            pytest.fail(as_text(self.report), pytrace=False)

    def assert_different(self, rule: str) -> None:
        """Fails the test unless this rule found a difference."""
        from replay.report import as_text

        if not any(difference.rule == rule for difference in self.report.differences):
            pytest.fail(f"no difference of rule {rule}\n{as_text(self.report)}", pytrace=False)


@pytest.fixture
def replay_session() -> Callable[..., ReplayedSession]:
    """``replay_session(capture, to=url, …)`` replays the captured clients and compares.

    Keyword arguments are those of ``replay.plan.Plan`` (speed, prefix, vhost, mode, causality, …)
    and of ``replay.run.ClientOptions`` (credentials, tls, consent, ignored, …). The speed is
    ``max`` unless said otherwise."""

    def run(capture: str, *, to: str, **settings: Any) -> ReplayedSession:
        from replay.api import replay

        return ReplayedSession(replay(capture, to=to, **{"speed": "max", **settings}))

    return run
