/**
 * Reports of usage that are refused as a whole, and who may report, over every protocol. USAGE-1,
 * ACCESS-3.
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { addApiKey } from "../support/organisation-builder.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { protocols } from "./procedures.ts";
import type { Json } from "./units-builder.ts";
import { addMeter, usageEvent } from "./usage-builder.ts";
import { at, usageEventsTest as test } from "./usage-events-fixture.ts";

describe("a malformed event refuses the whole request and stores nothing:", () => {
  const cases: [string, object, string][] = [
    ["no event_id", { event_id: undefined }, "event_id"],
    ["an empty event_id", { event_id: "" }, "event_id"],
    ["an event_id of 256 characters", { event_id: "é".repeat(256) }, "event_id"],
    ["NUL in event_id", { event_id: "a\0b" }, "event_id"],
    ["half of a surrogate pair", { event_id: "\ud83d" }, "event_id"],
    ["no subscription", { subscription: undefined }, "subscription"],
    ["a subscription of 101 characters", { subscription: "s".repeat(101) }, "subscription"],
    ["neither meter nor code", { meter_code: undefined }, "meter"],
    ["both meter and code", { meter: randomUUID() }, "meter_code"],
    ["an empty meter", { meter_code: undefined, meter: "" }, "meter"],
    ["a meter of 101 characters", { meter_code: undefined, meter: "m".repeat(101) }, "meter"],
    ["a code of 101 characters", { meter_code: "m".repeat(101) }, "meter_code"],
    ["a code that is null", { meter_code: null }, "meter_code"],
    ["no quantity", { quantity: undefined }, "quantity"],
    ["zero", { quantity: 0 }, "quantity"],
    ["zero as text", { quantity: "0.0000" }, "quantity"],
    ["less than zero", { quantity: -1 }, "quantity"],
    ["five places", { quantity: "1.00001" }, "quantity"],
    ["21 characters", { quantity: "123456789012345678901" }, "quantity"],
    ["a quantity that is true", { quantity: true }, "quantity"],
    ["no timestamp", { timestamp: undefined }, "timestamp"],
    ["a timestamp without offset", { timestamp: "2026-05-09T10:00:00" }, "timestamp"],
    ["a day that is none", { timestamp: "2026-02-29T10:00:00Z" }, "timestamp"],
    ["a leap second", { timestamp: "2026-06-30T23:59:60Z" }, "timestamp"],
    ["a timestamp that is a number", { timestamp: 1_778_320_800 }, "timestamp"],
    ["an unknown member", { unit: "call" }, "unit"],
    ["a second spelling", { eventId: "e" }, "eventId"],
  ];

  test("each by its place, over REST and Connect", async ({
    reports,
    call,
    own,
    event,
    stored,
  }) => {
    const good = event();
    for (const [what, changes, field] of cases) {
      const answer = await reports.report(own, [good, event(changes)]);
      expect([what, refusalOf(answer)]).toEqual([
        what,
        refused(422, "invalid_parameter", `events.1.${field}`),
      ]);
    }
    expect(await stored(good.event_id)).toBeUndefined();
    // What its members cannot say, or its clients cannot send, is REST's alone.
    const sendable = cases.filter(
      ([what]) => !/null|true|number|unknown|spelling|surrogate|zero$|less/.test(what),
    );
    expect(sendable.length).toBeGreaterThan(15);
    for (const [what, changes, field] of sendable) {
      const events = [good, event(changes)].map(inConnect);
      const { code, detail } = await call("gRPC", "ReportUsage", { events }, { key: own.apiKey });
      expect([what, code, detail?.code, detail?.param]).toEqual([
        what,
        "InvalidArgument",
        "invalid_parameter",
        `events.1.${field}`,
      ]);
    }
    expect(await stored(good.event_id)).toBeUndefined();
  });

  test("exponents and leading zeros of numbers, which JSON alone would hide", async ({
    ask,
    own,
    event,
  }) => {
    for (const number of ["1e2", "1E2", "1.00000", "1.0e0"]) {
      const one = JSON.stringify(event({ quantity: 7 }));
      const body = `{"events":[${one.replace('"quantity":7', `"quantity":${number}`)}]}`;
      const answer = await ask("POST", "/v1/usage_events", { key: own.apiKey, body });
      expect([number, refusalOf(answer)]).toEqual([
        number,
        refused(422, "invalid_parameter", "events.0.quantity"),
      ]);
    }
  });

  test("no events, 101 events, none at all, another member", async ({ ask, own, event }) => {
    const many = Array.from({ length: 101 }, () => event());
    for (const body of [{ events: [] }, { events: many }, {}]) {
      const answer = await ask("POST", "/v1/usage_events", { key: own.apiKey, body });
      expect(refusalOf(answer)).toEqual(refused(422, "invalid_parameter", "events"));
    }
    const more = await ask("POST", "/v1/usage_events", {
      key: own.apiKey,
      body: { events: [event()], dry_run: true },
    });
    expect(refusalOf(more)).toEqual(refused(422, "invalid_parameter", "dry_run"));
    const notList = await ask("POST", "/v1/usage_events", {
      key: own.apiKey,
      body: { events: { 0: event() } },
    });
    expect(refusalOf(notList)).toEqual(refused(422, "invalid_parameter", "events"));
  });
});

/** An event as the contract's messages have it. */
function inConnect({ event_id, meter_code, ...others }: Json): Json {
  const defined = Object.entries({ ...others, meterCode: meter_code, eventId: event_id }).filter(
    ([, value]) => value !== undefined,
  );
  return Object.fromEntries(
    defined.map(([name, value]) => [name, typeof value === "number" ? String(value) : value]),
  );
}

test("a report without permission is refused before the body is read", async ({
  system,
  ask,
  own,
  organisation,
}) => {
  const unscoped = await addApiKey(system.pool, own.organisationId, ["subscriptions:write"], {
    livemode: false,
  });
  const closed = await organisation({ usage_allowed: false });
  const live = await organisation({ usage_allowed: false, livemode: true, test_clock: null });
  const said = await Promise.all(
    [unscoped.value, closed.apiKey, live.apiKey].map(async (key) => {
      const answer = await ask("POST", "/v1/usage_events", { key, body: "{" });
      expect(refusalOf(answer)).toEqual(refused(403, "insufficient_scope"));
      return answer.json.error.message;
    }),
  );
  expect(said).toEqual([
    "The API key lacks the scope usage:write",
    "A test key cannot report usage.",
    "The organisation has not allowed usage to be reported.",
  ]);
});

test("a report in Setup Mode is accepted", async ({ system, sandboxes, reports, organisation }) => {
  const inSetupMode = await organisation({ setup_mode: true });
  await addMeter(system.pool, inSetupMode.organisationId);
  const id = await sandboxes.subscribe(inSetupMode.organisationId, { startDate: "2026-05-01" });
  await reports.stored(inSetupMode, [usageEvent(id, at)]);
});

test("an organisation cannot reach another's subscriptions, meters and events", async ({
  system,
  sandboxes,
  reports,
  own,
  organisation,
  event,
  stored,
}) => {
  const other = await organisation();
  const foreignMeter = await addMeter(system.pool, other.organisationId, { code: "theirs" });
  const foreign = await sandboxes.subscribe(other.organisationId, { startDate: "2026-05-01" });
  const taken = usageEvent(foreign, at, { meter_code: "theirs" });
  await reports.stored(other, [taken]);
  const tried = [
    event({ subscription: foreign }),
    event({ meter_code: "theirs" }),
    event({ meter_code: undefined, meter: foreignMeter }),
    event({ event_id: taken.event_id }),
  ];
  expect(await reports.verdicts(own, tried)).toEqual([
    "subscription_not_found",
    "meter_not_found",
    "meter_not_found",
    "created",
  ]);
  expect(await stored(taken.event_id, other)).toMatchObject({ subscription_id: foreign });
});

test.for(
  protocols,
)("%s answers a report the same as REST, and replays one of REST", async (protocol, {
  reports,
  call,
  own,
  organisation,
  event,
}) => {
  const good = event();
  const events = [good, event({ meter_code: "none" })];
  const key = `protocol-${protocol.replaceAll(" ", "-")}`;
  const passed = { key: own.apiKey, headers: { "Idempotency-Key": key } };
  const rest = await reports.report(own, events, key);
  const replayed = await call(protocol, "ReportUsage", { events: events.map(inConnect) }, passed);
  expect([replayed.code, replayed.headers.get("Idempotent-Replayed")]).toEqual([null, "true"]);
  expect(inRest(replayed.message)).toEqual(rest.json);
  const fresh = await call(
    protocol,
    "ReportUsage",
    { events: [event(), good].map(inConnect) },
    {
      key: own.apiKey,
    },
  );
  expect(fresh.message).toMatchObject({
    object: "usage_event_batch",
    created: 1,
    duplicates: 1,
    rejected: 0,
  });
  const closed = await organisation({ usage_allowed: false });
  const { code, detail } = await call(
    protocol,
    "ReportUsage",
    { events: [inConnect(good)] },
    {
      key: closed.apiKey,
    },
  );
  expect([code, detail?.code]).toEqual(["PermissionDenied", "insufficient_scope"]);
});

/** A procedure's answer with the words of REST. */
function inRest(message: unknown): Json {
  return JSON.parse(
    JSON.stringify(message).replace(
      /"USAGE_EVENT_(?:STATUS|ERROR_CODE)_([A-Z_]+)"/g,
      (_, word: string) => `"${word.toLowerCase()}"`,
    ),
  );
}
