/**
 * Reports of usage that are refused as a whole, who may report, and each protocol. USAGE-1,
 * ACCESS-3.
 */
import { expect } from "vitest";
import { addApiKey } from "../support/organisation-builder.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { protocols } from "./procedures.ts";
import type { Json } from "./units-builder.ts";
import { addMeter, usageEvent } from "./usage-builder.ts";
import { at, usageEventsTest as test } from "./usage-events-fixture.ts";

test("a malformed event refuses the whole request by its place and stores nothing", async ({
  reports,
  own,
  event,
  stored,
}) => {
  const good = event();
  const answer = await reports.report(own, [good, event({ quantity: "1.00001" })]);
  expect(refusalOf(answer)).toEqual(refused(422, "invalid_parameter", "events.1.quantity"));
  expect(await stored(good.event_id)).toBeUndefined();
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
