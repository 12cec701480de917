"""A platform that meters usage: reports what its log says, and shows what that comes to.

Each line of standard input is one use, as JSON:

    {"id": "call-1", "subscription": "6f1ed002-…", "meter": "api-calls", "quantity": 3,
     "at": "2026-03-05T10:15:00Z"}

An id counts once for ever, so the whole log may be sent again after a crash.
"""

import json
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

URL = os.environ["BILLING_URL"].rstrip("/")
KEY = os.environ["BILLING_API_KEY"]
EVENTS_PER_CALL = 100
ATTEMPTS = 5


def call(method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Calls the service. What may pass is tried again, each time after a longer pause."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    for attempt in range(1, ATTEMPTS + 1):
        pause = 2**attempt * random.uniform(0.25, 0.5)
        try:
            with urlopen(Request(URL + path, data, headers, method=method), timeout=30) as answer:
                return json.load(answer)
        except HTTPError as refusal:
            reason = reason_of(refusal)
            if refusal.code not in (429, 500, 502, 503, 504):
                sys.exit(f"refused: {reason}")
            pause = max(pause, float(refusal.headers.get("Retry-After", 0)))
        except (URLError, OSError) as lost:
            reason = f"{URL} does not answer: {lost}"
        if attempt == ATTEMPTS:
            sys.exit(f"given up: {reason}")
        print(f"again in {pause:.1f} s: {reason}", file=sys.stderr)
        time.sleep(pause)
    raise AssertionError("the last attempt returns or exits")


def reason_of(refusal: HTTPError) -> str:
    """The code and the words of the service, or the status of another server."""
    try:
        error = json.load(refusal)["error"]
        return f"{error['code']}: {error['message']}"
    except (ValueError, KeyError, TypeError):
        return f"{refusal.url} answered {refusal.code}"


def uses(log: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The events of a log. A quantity stays the text that it is, so that no digit is lost."""
    for line in filter(str.strip, log):
        use = json.loads(line, parse_float=str, parse_int=str)
        yield {
            "event_id": use["id"],
            "subscription": use["subscription"],
            "meter_code": use["meter"],
            "quantity": use["quantity"],
            "timestamp": use["at"],
        }


def batches(events: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while batch := list(islice(events, EVENTS_PER_CALL)):
        yield batch


def usage_of(subscription: str) -> Iterator[dict[str, Any]]:
    """The usage of a subscription by period and meter, newest period first, page by page."""
    query = {"limit": "100"}
    while True:
        page = call("GET", f"/v1/subscriptions/{subscription}/usage?{urlencode(query)}")
        yield from page["data"]
        if not page["has_more"]:
            return
        query["starting_after"] = page["data"][-1]["id"]


def main() -> int:
    counts = {"created": 0, "duplicate": 0, "rejected": 0}
    subscriptions: dict[str, None] = {}
    for batch in batches(uses(sys.stdin)):
        subscriptions.update(dict.fromkeys(event["subscription"] for event in batch))
        # The answer is 207 if an event was rejected: each has its own result.
        for result in call("POST", "/v1/usage_events", {"events": batch})["results"]:
            counts[result["status"]] += 1
            if result["status"] == "rejected":
                error = result["error"]
                print(f"rejected {result['event_id']}: {error['code']}", file=sys.stderr)
    print(", ".join(f"{count} {status}" for status, count in counts.items()))
    for subscription in subscriptions:
        total = Decimal(0)
        for usage in usage_of(subscription):
            days = f"{usage['period']['start']} to {usage['period']['end']}"
            amount = f"{usage['amount']} {usage['currency']}"
            print(f"{days}: {usage['quantity']} {usage['meter_code']} come to {amount}")
            total += Decimal(usage["amount"])
        print(f"{subscription}: {total} without tax")
    return 1 if counts["rejected"] else 0


if __name__ == "__main__":
    sys.exit(main())
