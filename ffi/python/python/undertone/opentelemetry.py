"""Releases in the place of prompts, in the spans of LLM apps. Needs opentelemetry-sdk.

A finished span is read-only, so :class:`ReleasingExporter` wraps the exporter: it hands a new span
to it for each LLM span, and no other span.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, Optional

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext, Status

from ._answers import Number
from ._errors import UndertoneError
from ._releases import release
from ._undertone import Ledger, Pack

__all__ = ["ALLOWED", "ReleasingExporter"]

#: The attributes that are exported as they are. None depends on a prompt or a completion.
ALLOWED = frozenset(
    {
        "gen_ai.operation.name",
        "gen_ai.output.type",
        "gen_ai.provider.name",
        "gen_ai.request.max_tokens",
        "gen_ai.request.model",
        "gen_ai.request.temperature",
        "gen_ai.request.top_p",
        "gen_ai.system",
        "server.address",
        "server.port",
    }
)

#: For each kind of text: the role, the attributes, and the attribute of an event.
_PROMPT = ("user", ("gen_ai.input.messages", "gen_ai.prompt"), {"gen_ai.user.message": "content"})
_COMPLETION = ("assistant", ("gen_ai.output.messages", "gen_ai.completion"), {"gen_ai.choice": "message"})


def _plain(value: Any, role: str) -> str:
    """The text of the last message of a role: the convention has messages with parts, as a list or
    as its JSON."""
    if isinstance(value, str):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return _plain(read, role) if isinstance(read, (list, dict)) else value
    if isinstance(value, Mapping):
        parts = value.get("parts", value.get("content", ""))
        if isinstance(parts, str):
            return parts
        parts = parts if isinstance(parts, Sequence) else ()
        texts = [part.get("content", part.get("text")) for part in parts if isinstance(part, Mapping)]
        return "\n".join(text for text in texts if isinstance(text, str))
    if isinstance(value, Sequence):
        own = [one for one in value if isinstance(one, Mapping) and one.get("role", role) == role]
        return _plain(own[-1], role) if own else ""
    return ""


def _text(span: ReadableSpan, role: str, names: Sequence[str], events: Mapping[str, str]) -> Optional[str]:
    """The last text of a role in a span and its events; None if the span has no content at all."""
    found: Optional[str] = None
    attributes = span.attributes or {}
    for own in [attributes, *(event.attributes or {} for event in span.events)]:
        for name in names:
            if name in own:
                found = _plain(own[name], role) or found or ""
    # Some instrumentations number the messages: gen_ai.prompt.0.role, gen_ai.prompt.0.content.
    numbered: list[tuple[int, str]] = []
    for name, value in attributes.items():
        start, _, end = name.removeprefix(names[1] + ".").partition(".")
        if name.startswith(names[1] + ".") and start.isdecimal() and end == "content":
            found = found or ""
            if attributes.get(f"{names[1]}.{start}.role", role) == role:
                numbered.append((int(start), _plain(value, role)))
    if numbered:
        found = max(numbered)[1]
    for event in span.events:
        if event.name in events:
            found = _plain((event.attributes or {}).get(events[event.name]), role) or found or ""
    return found


class ReleasingExporter(SpanExporter):
    """Exports LLM spans by ``exporter``, with a release in the place of the prompt.

    A span with ``gen_ai.operation.name`` becomes a new span: its identifiers, times, kind, status
    code and resource, the attributes of ``allow``, the name ``"{operation} {model}"``, and, if the
    app records prompts, ``undertone.prompt``: a release of the last message of the user, in
    hexadecimal digits. All else is left out: other attributes, events, links, the description of
    the status. Spans of other kinds are not exported.

    ``epsilon``, ``rule`` and ``ledger`` are those of :func:`undertone.release`.
    ``completions=True`` also releases the answer as ``undertone.completion``, which costs another
    ``epsilon``. If the ledger refuses, or a release fails for any reason, the span has no release.

    Guarantee: exchanging a message changes the probability of a release by at most a factor of
    e^epsilon. Messages that are exported several times, and both texts of a span, add up.

    Leaks: the span itself: that there was a call, when, its duration, model and status. Other
    exporters, processors and logs of the app see the texts.
    """

    def __init__(
        self,
        exporter: SpanExporter,
        pack: Pack,
        epsilon: Number,
        *,
        rule: str = "whole-text",
        ledger: Optional[Ledger] = None,
        completions: bool = False,
        allow: Iterable[str] = ALLOWED,
    ) -> None:
        self._exporter = exporter
        self._pack = pack
        self._epsilon = epsilon
        self._rule = rule
        self._ledger = ledger
        self._texts = {"undertone.prompt": _PROMPT}
        if completions:
            self._texts["undertone.completion"] = _COMPLETION
        self._allow = frozenset(allow)
        # Two calls of a ledger at a time are an error.
        self._lock = Lock()
        # Wrong arguments are found now, by a text that is public.
        release("", pack, epsilon, rule=rule)

    def _release(self, text: str) -> Optional[str]:
        try:
            with self._lock:
                return release(text, self._pack, self._epsilon, rule=self._rule, ledger=self._ledger).hex()
        except (UndertoneError, RuntimeError):
            return None

    def _replaced(self, span: ReadableSpan) -> ReadableSpan:
        read = span.attributes or {}
        attributes: dict[str, Any] = {name: value for name, value in read.items() if name in self._allow}
        for name, (role, names, events) in self._texts.items():
            text = _text(span, role, names, events)
            drawn = None if text is None else self._release(text)
            if drawn is not None:
                attributes[name] = drawn
        named = [str(read[name]) for name in ("gen_ai.operation.name", "gen_ai.request.model") if name in read]
        return ReadableSpan(
            name=" ".join(named),
            context=_without_state(span.context),
            parent=_without_state(span.parent),
            resource=span.resource,
            attributes=attributes,
            kind=span.kind,
            status=Status(span.status.status_code),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Hands the replaced spans to the wrapped exporter."""
        own = [self._replaced(span) for span in spans if "gen_ai.operation.name" in (span.attributes or {})]
        return self._exporter.export(own) if own else SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Shuts the wrapped exporter down."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Flushes the wrapped exporter."""
        return self._exporter.force_flush(timeout_millis)


def _without_state(context: Optional[SpanContext]) -> Optional[SpanContext]:
    """The identifiers of a span: any code can write text into the state of a trace."""
    if context is None:
        return None
    return SpanContext(context.trace_id, context.span_id, context.is_remote, context.trace_flags)
