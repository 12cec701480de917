/**
 * Reports of usage over HTTP: the verdicts, what is stored, what is refused as a whole, who may
 * report, resends, and each protocol.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MadeOrganisation } from "../../src/dev/local-stack/demo/first-data.ts";
import { type BillingWorld, billingWorld } from "../store/billing/billing-fixture.ts";
import { startSystem, type TestSystem } from "../support/system.ts";
import { type Ask, checkedAsk, refusalOf, refused } from "./checked-ask.ts";
import { type CallMethod, callsTo, protocols } from "./procedures.ts";
import { addApiKey } from "./rows.ts";
import type { Json } from "./units-world.ts";
import {
  addMeter,
  setMeterStatus,
  type UsageBuilder,
  usageBuilder,
  usageEvent,
} from "./usage-world.ts";

let system: TestSystem;
let world: BillingWorld;
let ask: Ask;
let usage: UsageBuilder;
let call: CallMethod;
let own: MadeOrganisation;
let subscription: string;
let meterId: string;

/** Noon UTC of this day is what its clock shows. */
const today = "2026-05-10";

beforeAll(async () => {
  // Nothing is posted to the ledger here, so no worker is needed.
  system = await startSystem({ without: ["worker"] });
  world = await billingWorld({ url: system.databaseUrl, drop: async () => undefined });
  ask = checkedAsk(system);
  usage = usageBuilder(ask);
  call = callsTo(system.baseUrl);
  own = await organisation();
  meterId = await addMeter(system.pool, own.organisationId);
  subscription = await world.subscribe(own.organisationId, {
    startDate: "2026-04-20",
    timezone: "Pacific/Auckland",
  });
});

afterAll(async () => {
  await world?.drop();
  await system?.stop();
});

/** A sandbox with a key that allows usage by default. */
async function organisation(changes: Record<string, unknown> = {}): Promise<MadeOrganisation> {
  const organisationId = await world.sandbox(today, { usage_allowed: true, ...changes });
  const { id, value } = await addApiKey(system.pool, organisationId, ["usage:write"], {
    livemode: false,
  });
  return { organisationId, apiKeyId: id, apiKey: value, tenantId: "" };
}

const at = "2026-05-09T10:00:00Z";

/** A valid event of the subscription, with these changes. */
const event = (changes: object = {}): Json => usageEvent(subscription, at, changes);

/** What is stored under an id: all of it as text. */
async function stored(eventId: string, { organisationId } = own): Promise<Json | undefined> {
  const { rows } = await system.pool.query(
    `SELECT subscription_id, meter_id, period_index, bill, quantity::text, to_char(occurred_at AT
      TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS at,
      created_at FROM usage_events WHERE organisation_id = $1 AND event_id = $2`,
    [organisationId, eventId],
  );
  return rows[0];
}

describe("a batch", () => {
  test("has a verdict for each event in order, and the same when it is sent again", async () => {
    await addMeter(system.pool, own.organisationId, { code: "old", status: "inactive" });
    await addMeter(system.pool, own.organisationId, { code: "elsewhere", plans: ["site"] });
    const [first, other] = [
      event({ quantity: "2.5" }),
      event({ meter: meterId, meter_code: undefined }),
    ];
    const events = [
      first,
      { ...first, quantity: 2.5 },
      { ...first, quantity: "2.6" },
      event({ subscription: randomUUID() }),
      event({ subscription: "ACME" }),
      event({ meter_code: "none" }),
      event({ meter_code: undefined, meter: "none" }),
      event({ meter_code: "old" }),
      event({ meter_code: "elsewhere" }),
      event({ timestamp: "2026-05-10T12:01:00.000001Z" }),
      event({ timestamp: "2026-04-19T11:59:59.999999Z" }),
      other,
    ];
    const answer = await usage.report(own, events);
    const counts = { object: "usage_event_batch", created: 2, duplicates: 1, rejected: 9 };
    expect([answer.status, answer.json]).toMatchObject([207, counts]);
    const told = answer.json.results.map((result: Json) => [
      result.event_id,
      result.status,
      result.error?.code,
    ]);
    const expected = [
      "created",
      "duplicate",
      "event_id_conflict",
      "subscription_not_found",
      "subscription_not_found",
    ];
    expected.push(
      "meter_not_found",
      "meter_not_found",
      "meter_inactive",
      "meter_not_on_plan",
      "timestamp_in_future",
    );
    expected.push("before_subscription_start", "created");
    const isStored = (verdict: string) => verdict === "created" || verdict === "duplicate";
    expect(told).toEqual(
      expected.map((verdict, index) => {
        const { event_id } = events[index];
        return isStored(verdict) ? [event_id, verdict, undefined] : [event_id, "rejected", verdict];
      }),
    );
    for (const { error } of answer.json.results)
      if (error !== undefined) expect(error.message).toMatch(/^[A-Z].+\.$/);
    const again = expected.map((verdict) => (verdict === "created" ? "duplicate" : verdict));
    expect(await usage.verdicts(own, events)).toEqual(again);
    expect(await stored(events[9].event_id)).toBeUndefined();
    expect(await stored(first.event_id)).toMatchObject({ quantity: "2.5000", meter_id: meterId });
  });

  test("is 200 without a rejected event, and a rejected id is usable once corrected", async () => {
    const wrong = event({ meter_code: "none" });
    expect(await usage.verdicts(own, [wrong, { ...wrong, meter_code: "api-calls" }])).toEqual([
      "meter_not_found",
      "created",
    ]);
    const answer = await usage.report(own, [{ ...wrong, meter_code: "api-calls" }, event()]);
    expect([answer.status, answer.json]).toMatchObject([
      200,
      { created: 1, duplicates: 1, rejected: 0 },
    ]);
  });

  test("keeps every digit of a quantity, text or number, and every microsecond", async () => {
    const sent: [string, string][] = [
      ["99999999999999999999", "99999999999999999999.0000"],
      ["1234567890123456.789", "1234567890123456.7890"],
      ["0.0001", "0.0001"],
      ['"123456789012345.6789"', "123456789012345.6789"],
      ["1.10", "1.1000"],
    ];
    for (const [quantity, kept] of sent) {
      const { event_id } = event();
      const timestamp = "2026-05-10T00:00:00.1234569+05:45";
      const members = {
        event_id,
        subscription: subscription.toUpperCase(),
        meter: meterId.toUpperCase(),
        timestamp,
      };
      const body = `{"events":[${JSON.stringify(members).slice(0, -1)},"quantity":${quantity}}]}`;
      const answer = await ask("POST", "/v1/usage_events", { key: own.apiKey, body });
      expect([answer.status, answer.json.created], answer.text).toEqual([200, 1]);
      expect(await stored(event_id)).toMatchObject({
        subscription_id: subscription,
        meter_id: meterId,
        quantity: kept,
        at: "2026-05-09 18:15:00.123456",
        created_at: new Date(`${today}T12:00:00Z`),
      });
    }
  });

  test("may have a hundred events with the longest ids of any characters", async () => {
    const texts = ["é", "e\u0301", "\"\\'{},", "😀", " ", "$1", "NULL", "\u0001\n"];
    const ids = texts.map((text) => text + "x".repeat(255 - [...text].length));
    const events = Array.from({ length: 100 }, (_, index) =>
      event({ event_id: ids[index] ?? `${index}`.padStart(255, "0") }),
    );
    expect(events[0].event_id).not.toBe(events[1].event_id);
    await usage.stored(own, events);
    expect(await usage.verdicts(own, events)).toEqual(events.map(() => "duplicate"));
  });

  test("assigns each event its period and bill, also before a due renewal", async () => {
    const id = await world.subscribe(own.organisationId, {
      startDate: "2026-05-01",
      timezone: "Pacific/Auckland",
    });
    await world.setClock(own.organisationId, "2026-06-30T12:00:30Z");
    const times = [
      "2026-04-30T12:00:00Z",
      "2026-05-31T11:59:59Z",
      "2026-05-31T12:00:00Z",
      "2026-06-30T12:01:00Z",
    ];
    const events = times.map((timestamp) => usageEvent(id, timestamp));
    await usage.stored(own, events);
    await world.setClock(own.organisationId, today);
    const rows = await Promise.all(events.map(({ event_id }) => stored(event_id)));
    expect(rows).toMatchObject([0, 0, 1, 2].map((index) => ({ period_index: index, bill: index })));
  });
});

describe("a resend", () => {
  test("is a duplicate even once the meter, the subscription or the event is over", async () => {
    const id = await world.subscribe(own.organisationId, { startDate: "2026-05-01" });
    await addMeter(system.pool, own.organisationId, { code: "passing" });
    const sent = usageEvent(id, at, { meter_code: "passing" });
    await usage.stored(own, [sent]);
    await setMeterStatus(system.pool, own.organisationId, "passing", "inactive");
    const changes = `UPDATE subscriptions SET status = 'ended', end_date = '2026-05-05', ended_at =
      '2026-05-05T10:00:00Z', due_at = NULL`;
    await system.pool.query(`${changes} WHERE id = $1`, [id]);
    const other = { ...sent, event_id: randomUUID() };
    expect(await usage.verdicts(own, [sent, other, { ...sent, quantity: "2" }])).toEqual([
      "duplicate",
      "meter_inactive",
      "event_id_conflict",
    ]);
    await system.pool.query(
      "UPDATE usage_events SET voided_at = now(), void_reason = 'sent twice' WHERE event_id = $1",
      [sent.event_id],
    );
    expect(await usage.verdicts(own, [sent])).toEqual(["duplicate"]);
    expect((await world.row(id)).due_at).toBeNull();
  });

  test("with an Idempotency-Key gets the first answer; another body conflicts", async () => {
    const events = [event(), event({ meter_code: "none" })];
    const first = await usage.report(own, events, "batch-1");
    const again = await usage.report(own, events, "batch-1");
    expect([first.status, again.status, again.text]).toEqual([207, 207, first.text]);
    expect([first, again].map(({ headers }) => headers.get("Idempotent-Replayed"))).toEqual([
      null,
      "true",
    ]);
    expect(refusalOf(await usage.report(own, [events[0]], "batch-1")).code).toBe(
      "idempotency_conflict",
    );
    const without = await usage.report(own, events);
    expect(without.json).toMatchObject({ created: 0, duplicates: 1, rejected: 1 });
  });
});

describe("late usage of a subscription that is over", () => {
  test("makes it due at the next midnight in its zone, once, if it stores an event", async () => {
    const id = await world.subscribe(own.organisationId, {
      startDate: "2026-05-01",
      timezone: "Pacific/Auckland",
    });
    const sent = usageEvent(id, "2026-05-08T10:00:00Z");
    await usage.stored(own, [sent]);
    const ended = `UPDATE subscriptions SET status = 'ended', end_date = '2026-05-09', ended_at =
      '2026-05-08T22:00:00.5Z', due_at = NULL`;
    await system.pool.query(`${ended} WHERE id = $1`, [id]);
    const dueAt = async () => (await world.row(id)).due_at;
    const after = usageEvent(id, "2026-05-08T22:00:00.5Z");
    expect(await usage.verdicts(own, [sent, after])).toEqual([
      "duplicate",
      "after_subscription_end",
    ]);
    expect(await dueAt()).toBeNull();
    const last = usageEvent(id, "2026-05-08T22:00:00.499999Z");
    expect(await usage.verdicts(own, [last, event()])).toEqual(["created", "created"]);
    expect(await dueAt()).toEqual(new Date("2026-05-11T12:00:00Z"));
    expect(await stored(last.event_id)).toMatchObject({ period_index: 0, bill: 0 });
    await system.pool.query(
      "UPDATE subscriptions SET due_at = '2026-05-10T12:00:00Z' WHERE id = $1",
      [id],
    );
    await usage.stored(own, [usageEvent(id, at.replace("09", "07"))]);
    expect(await dueAt()).toEqual(new Date("2026-05-10T12:00:00Z"));
  });
});

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

  test("each by its place, over REST and Connect", async () => {
    const good = event();
    for (const [what, changes, field] of cases) {
      const answer = await usage.report(own, [good, event(changes)]);
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

  test("exponents and leading zeros of numbers, which JSON alone would hide", async () => {
    for (const number of ["1e2", "1E2", "1.00000", "1.0e0"]) {
      const body = `{"events":[${JSON.stringify(event({ quantity: 7 })).replace('"quantity":7', `"quantity":${number}`)}]}`;
      const answer = await ask("POST", "/v1/usage_events", { key: own.apiKey, body });
      expect([number, refusalOf(answer)]).toEqual([
        number,
        refused(422, "invalid_parameter", "events.0.quantity"),
      ]);
    }
  });

  test("no events, 101 events, none at all, another member", async () => {
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

test("a report without permission is refused before the body is read", async () => {
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

test("a report in Setup Mode is accepted", async () => {
  const mirrored = await organisation({ setup_mode: true });
  await addMeter(system.pool, mirrored.organisationId);
  const id = await world.subscribe(mirrored.organisationId, { startDate: "2026-05-01" });
  await usage.stored(mirrored, [usageEvent(id, at)]);
});

test("an organisation cannot reach another's subscriptions, meters and events", async () => {
  const other = await organisation();
  const foreignMeter = await addMeter(system.pool, other.organisationId, { code: "theirs" });
  const foreign = await world.subscribe(other.organisationId, { startDate: "2026-05-01" });
  const taken = usageEvent(foreign, at, { meter_code: "theirs" });
  await usage.stored(other, [taken]);
  const tried = [
    event({ subscription: foreign }),
    event({ meter_code: "theirs" }),
    event({ meter_code: undefined, meter: foreignMeter }),
    event({ event_id: taken.event_id }),
  ];
  expect(await usage.verdicts(own, tried)).toEqual([
    "subscription_not_found",
    "meter_not_found",
    "meter_not_found",
    "created",
  ]);
  expect(await stored(taken.event_id, other)).toMatchObject({ subscription_id: foreign });
});

test.each(
  protocols,
)("%s answers a report the same as REST, and replays one of REST", async (protocol) => {
  const good = event();
  const events = [good, event({ meter_code: "none" })];
  const key = `protocol-${protocol.replaceAll(" ", "-")}`;
  const given = { key: own.apiKey, headers: { "Idempotency-Key": key } };
  const rest = await usage.report(own, events, key);
  const replayed = await call(protocol, "ReportUsage", { events: events.map(inConnect) }, given);
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
