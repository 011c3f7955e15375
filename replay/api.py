"""Replay as a library: one call from capture to report."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

from replay.plan import Plan, describe
from replay.report import Report
from replay.run import ClientOptions, options_of, replay_client
from replay.script import read_script
from replay.target import read_credentials


def replay(capture: str | os.PathLike[str], *, to: str, **settings: Any) -> Report:
    """Replay a capture's clients against a live peer and compare.

    ``settings`` are fields of `Plan` and of `ClientOptions`, by name; credentials come from the
    environment unless given."""
    for_plan = {f.name for f in fields(Plan)}
    for_run = {f.name for f in fields(ClientOptions)}
    unknown = set(settings) - for_plan - for_run
    if unknown:
        raise TypeError(f"unknown settings: {', '.join(sorted(unknown))}")
    plan = Plan([os.fspath(capture)], target=to)
    options = ClientOptions(credentials=read_credentials(None))
    for name, value in settings.items():
        setattr(plan if name in for_plan else options, name, value)
    script = read_script(plan.captures, options_of(plan))
    describe(script, plan)
    if plan.mode == "load" or plan.copies > 1:
        from replay.load import replay_load

        return replay_load(plan, script, options)
    return replay_client(plan, script, options)
