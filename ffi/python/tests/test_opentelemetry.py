"""Prompts in spans, with the real OpenTelemetry SDK.

Chance: false alarm 10⁻¹². At ε = 1000, served as 33, each of 12 other outcomes of 14 releases has a relative weight of 2⁻⁴⁸.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import undertone as ut

pytest.importorskip("opentelemetry.sdk", reason="NOT CHECKED: opentelemetry-sdk is not installed")

from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402
from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags, TraceState  # noqa: E402

from undertone.opentelemetry import ALLOWED, ReleasingExporter  # noqa: E402

SECRET = "Kowalski's biopsy is on Monday. The doctor wants to repeat the blood test."
OTHER = "The goalkeeper saved the penalty. The fans sang after the match."
CHAT: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "gen_ai.request.temperature": 0.5}


def message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def prompts() -> Iterator[tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]]:
    """The attributes and events of each convention, with the same last message."""
    history = [message("user", OTHER), message("assistant", OTHER), message("user", SECRET), message("tool", OTHER)]
    yield {"gen_ai.input.messages": json.dumps(history)}, []
    yield {"gen_ai.prompt": SECRET}, []
    yield {"gen_ai.prompt": json.dumps([{"role": "user", "content": SECRET}])}, []
    yield {
        "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": OTHER, "gen_ai.prompt.2.role": "user",
        "gen_ai.prompt.2.content": OTHER, "gen_ai.prompt.10.role": "user", "gen_ai.prompt.10.content": SECRET,
    }, []
    yield {}, [("gen_ai.content.prompt", {"gen_ai.prompt": SECRET})]
    yield {}, [("gen_ai.user.message", {"content": OTHER}), ("gen_ai.user.message", {"content": SECRET})]
    yield {}, [("gen_ai.client.inference.operation.details", {"gen_ai.input.messages": json.dumps(history)})]


def exported(exporter: InMemorySpanExporter) -> list[dict[str, Any]]:
    spans: list[dict[str, Any]] = [json.loads(span.to_json()) for span in exporter.get_finished_spans()]
    exporter.clear()
    return spans


def test_no_text_of_a_span_is_exported(built: ut.Built) -> None:
    memory, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(ReleasingExporter(memory, built.pack, 1000, completions=True)))
    tracer = provider.get_tracer("test")
    remote = SpanContext(1, 2, True, TraceFlags(1), TraceState([("secret", "Kowalski")]))
    for attributes, events in prompts():
        answer = json.dumps([message("assistant", OTHER)])
        more: dict[str, Any] = {"gen_ai.output.messages": answer, "gen_ai.system_instructions": SECRET, "note": SECRET, "gen_ai.usage.input_tokens": 20}
        with tracer.start_as_current_span("outer " + SECRET, attributes={"http.url": SECRET}):
            with tracer.start_as_current_span("chat " + SECRET, attributes={**CHAT, **attributes, **more}, links=[Link(remote, {"a": SECRET})]) as span:
                for name, own in events:
                    span.add_event(name, own)
                span.record_exception(ValueError(SECRET))
                span.set_status(Status(StatusCode.ERROR, SECRET))
        (read,) = exported(memory)
        assert "Kowalski" not in json.dumps(read) and "goalkeeper" not in json.dumps(read)
        assert read["name"] == "chat m-1" and read["events"] == read["links"] == [] and read["status"] == {"status_code": "ERROR"}
        assert set(read["attributes"]) == {*CHAT, "undertone.prompt", "undertone.completion"}
        for name, topic in (("undertone.prompt", "health-clinic"), ("undertone.completion", "football")):
            place = built.candidates.decode(ut.Release(bytes.fromhex(read["attributes"][name])))
            assert place is not None and built.candidates.names[place] == topic, (name, attributes, events)


def test_every_recorded_prompt_is_one_release(pack: ut.Pack) -> None:
    """Whether there is a release does not depend on what is in the messages."""
    memory, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(ReleasingExporter(memory, pack, 1, allow=ALLOWED | {"gen_ai.usage.input_tokens"})))
    tracer = provider.get_tracer("test")
    odd = ["", "[", "[" * 100_000, "null", "7", "[]", "{}", '[{"role": "user"}]', '[{"role": "user", "parts": 7}]', "\ud800", '[["user"]]']
    for value in odd:
        tracer.start_span("chat", attributes={**CHAT, "gen_ai.input.messages": value, "gen_ai.usage.input_tokens": 20}).end()
    spans = exported(memory)
    assert [len(span["attributes"].get("undertone.prompt", "")) for span in spans] == [48] * len(odd)
    assert spans[0]["attributes"]["gen_ai.usage.input_tokens"] == 20
    # An app that does not record prompts, and spans that are not of LLMs.
    tracer.start_span("chat", attributes=CHAT).end()
    tracer.start_span("GET /users/kowalski").end()
    (bare,) = exported(memory)
    assert bare["attributes"] == CHAT
    with pytest.raises(ut.ArgumentError):
        ReleasingExporter(memory, pack, 0)


def test_a_ledger_that_refuses_leaves_the_release_out(pack: ut.Pack, tmp_path: Path) -> None:
    memory, provider = InMemorySpanExporter(), TracerProvider()
    ledger = ut.Ledger(tmp_path / "ledger", 2, unit="whole-text", window=1)
    provider.add_span_processor(SimpleSpanProcessor(ReleasingExporter(memory, pack, 1, ledger=ledger)))
    tracer = provider.get_tracer("test")
    for _ in range(3):
        tracer.start_span("chat", attributes={**CHAT, "gen_ai.prompt": SECRET}).end()
    assert ["undertone.prompt" in span["attributes"] for span in exported(memory)] == [True, True, False]
    ledger.close()
