"""The protocol in OpenAPI, as master and download servers serve it at ``/openapi.json``."""

from __future__ import annotations

from typing import Any

from lycosa.dispatch.protocol import JSON, LINES, MAX_COUNT, MAX_PARTS, PROTOCOL, REQUESTS, RESPONSES, RESULTS
from lycosa.dispatch.refusal import CODES
from lycosa.dispatch.wire import MEMBERS

#: Parameters of requests to a download server.
_NAMED = [
    {"name": "Lycosa-Service", "in": "header", "required": True, "schema": {"type": "string"}},
    {"name": "Lycosa-Client", "in": "header", "required": True, "schema": {"$ref": "#/components/schemas/Name"}},
]

_BINARY = {"schema": {"type": "string", "format": "binary"}}


def document() -> dict[str, Any]:
    """Return the document (OpenAPI 3.1)."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Lycosa dispatch", "version": str(PROTOCOL), "description": "See docs/dispatch.md."},
        "security": [{"token": []}, {}],
        "paths": {
            "/v1/grants": {"post": _operation("Ask for grants (master)", "Question", "Grants")},
            "/v1/servers": {"post": _operation("Live download servers (master)", "Service", "Members")},
            "/v1/heartbeats": {"post": _operation("Report a download server (master)", "Heartbeat", "Known")},
            "/v1/key": {"get": _operation("The key that verifies grants (master)", None, "Key")},
            "/v1/downloads": {"post": _downloads()},
            "/v1/results": {"post": _results()},
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _schemas(),
        },
    }


def _operation(summary: str, asks: str | None, answers: str) -> dict[str, Any]:
    """An operation of JSON."""
    found: dict[str, Any] = {"summary": summary, "responses": _responses({JSON: {"schema": _of(answers)}})}
    if asks is not None:
        found["requestBody"] = {"required": True, "content": {JSON: {"schema": _of(asks)}}}
    return found


def _downloads() -> dict[str, Any]:
    """Submit requests."""
    fields = [
        {"name": "Lycosa-Grant", "in": "header", "required": True, "schema": {"type": "string"}},
        {"name": "Lycosa-Receive-Port", "in": "header", "schema": {"type": "integer", "minimum": 1024}},
        {"name": "Lycosa-Receive-Key", "in": "header", "schema": {"type": "string", "minLength": 16}},
        {"name": "Lycosa-Receive-Certificate", "in": "header", "schema": {"type": "string", "minLength": 64}},
    ]
    content = {
        LINES: {"schema": {"type": "string", "description": "A URL a line."}},
        JSON: {"schema": {"type": "array", "items": _of("Request")}},
        REQUESTS: _BINARY,
    }
    return {
        "summary": "Submit requests with a grant (download server)",
        "parameters": [*_NAMED, *fields],
        "requestBody": {"required": True, "content": content},
        "responses": _responses({JSON: {"schema": _of("Accepted")}}, "202"),
    }


def _results() -> dict[str, Any]:
    """Fetch results."""
    made = _responses({RESULTS: _BINARY, RESPONSES: _BINARY})
    made["200"]["headers"] = {
        "Lycosa-Sequence": {"schema": {"type": "integer"}, "description": "The last result's; confirmed by `after`."},
        "Lycosa-Owed": {"schema": {"type": "integer"}, "description": "Results not confirmed or still to come."},
        "Lycosa-Process": {"schema": {"type": "string"}, "description": "Of the download server."},
    }
    return {
        "summary": "Fetch results, and confirm earlier ones (download server)",
        "parameters": _NAMED,
        "requestBody": {"required": True, "content": {JSON: {"schema": _of("After")}}},
        "responses": made,
    }


def _responses(content: dict[str, Any], status: str = "200") -> dict[str, Any]:
    """The responses of an operation: its own, and errors."""
    error = {"description": "Refused.", "content": {JSON: {"schema": _of("Error")}}}
    return {status: {"description": "Done.", "content": content}, "default": error}


def _of(name: str) -> dict[str, str]:
    """A reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: str, **members: Any) -> dict[str, Any]:
    """The schema of an object. required: names, separated by blanks."""
    return {"type": "object", "required": required.split(), "properties": members}


def _schemas() -> dict[str, Any]:
    """All schemas."""
    text, number, whole = {"type": "string"}, {"type": "number"}, {"type": "integer", "minimum": 0}
    named = {"type": "object", "additionalProperties": number}
    part = _object(
        "count digest",
        server={"type": ["string", "null"], "description": "Owner of the sites; null with placement idlest."},
        count={"type": "integer", "minimum": 1, "maximum": MAX_COUNT},
        digest={"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "SHA-256 of what will be submitted."},
    )
    members = {
        "ring": whole,
        "members": named,
        "divided": {"type": "boolean", "description": "Whether URLs are divided by the ring."},
        "most": {"type": "integer", "description": "URLs of one grant, at most."},
        "period": number,
        "settled": {"type": "boolean", "description": "Whether servers that are missing are gone."},
        "servers": {"type": "object", "additionalProperties": _object("address process", address=text, process=text)},
    }
    codes = {"type": "string", "enum": [*CODES], "description": _meanings()}
    granted = _object("grant serial server expires", grant=text, serial=whole, server=text, expires=number)
    return {
        "Name": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"},
        "Question": _object(
            "service client parts",
            service=text,
            client=_of("Name"),
            parts={"type": "array", "items": part, "minItems": 1, "maxItems": MAX_PARTS},
        ),
        "Grants": _object("grants", grants={"type": "array", "items": {"anyOf": [granted, _of("Error")]}}, **members),
        "Service": _object("service", service=text),
        "Members": _object("ring servers", **members),
        "Heartbeat": _object(
            "protocol server process address slots speed free successes failures accepted ring members clocks queued",
            protocol=whole,
            server=_of("Name"),
            process=text,
            address=text,
            slots=whole,
            speed=number,
            free=whole,
            successes=whole,
            failures=whole,
            accepted={"type": "array", "items": whole},
            ring=whole,
            members=named,
            queued={"type": "object", "additionalProperties": whole, "description": "URLs by service."},
            clocks={"type": "string", "description": "Servers with the same ones keep one another's pauses."},
        ),
        "Known": _object("now period hold ring services", now=number, period=number, hold=number),
        "Key": _object("key protocol", key={"type": "string", "description": "Ed25519, in base64."}, protocol=whole),
        "Request": {"anyOf": [text, _object("url", **{name: {} for name in sorted(MEMBERS)})]},
        "Accepted": _object("accepted process", accepted=whole, process=text),
        "After": _object("", after=whole, wait=number, max_bytes=whole),
        "Error": _object("error detail after", error=codes, detail=text, after=number),
    }


def _meanings() -> str:
    """What each code means."""
    return " ".join(f"{name} ({code.status}): {code.meaning}." for name, code in CODES.items())
