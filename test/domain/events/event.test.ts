/**
 * The events for an object's changes within a window, and the body of an event. EVENT-1 to EVENT-5.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  type ChangeKind,
  decideEvents,
  eventBody,
  eventTypes,
  type ObjectKind,
  objectKinds,
} from "../../../src/domain/events/event.ts";

const text = (members: object) => JSON.stringify({ id: "1", ...members });

/** The events of a change from one state to another, each as `type previous`. */
function eventsOf(
  kind: ObjectKind,
  changes: readonly ChangeKind[],
  before: object | null,
  after: object,
): readonly string[] {
  const texts = { before: before === null ? null : text(before), after: text(after) };
  const window = { kind, changes, ...texts };
  return decideEvents(window).map(
    ({ type, previousAttributes }) => `${type} ${previousAttributes}`,
  );
}

const [active, ended] = [{ status: "active" }, { status: "ended" }];

describe("an object that is new", () => {
  test("is created, whatever else changed in the same window", () => {
    expect(eventsOf("subscription", ["created"], null, active)).toEqual([
      "subscription.created null",
    ]);
    expect(eventsOf("subscription", ["updated", "created"], null, active)).toEqual([
      "subscription.created null",
    ]);
    expect(eventsOf("customer", ["created"], null, active)).toEqual(["customer.created null"]);
  });

  test("and has ended, is paid, voided or deleted, has both events in this order", () => {
    expect(eventsOf("subscription", ["ended", "created"], null, ended)).toEqual([
      "subscription.created null",
      "subscription.ended null",
    ]);
    expect(eventsOf("invoice", ["created", "paid"], null, { status: "paid" })).toEqual([
      "invoice.created null",
      "invoice.paid null",
    ]);
    expect(eventsOf("credit_note", ["created", "voided"], null, { status: "voided" })).toEqual([
      "credit_note.created null",
      "credit_note.voided null",
    ]);
  });
});

describe("an object that was published before", () => {
  test("is updated with the previous values of its members, null for a new member", () => {
    const before = { units: 1, label: "a", ledger: { sync_status: "failed", invoice_id: null } };
    const after = {
      units: 2,
      label: "a",
      ledger: { sync_status: "synced", invoice_id: "x" },
      added: true,
    };
    expect(eventsOf("invoice", ["updated"], before, after)).toEqual([
      'invoice.updated {"units":1,"ledger":{"sync_status":"failed","invoice_id":null},' +
        '"added":null}',
    ]);
  });

  test("is only ended if it also changed, and only updated if it was restored since", () => {
    expect(
      eventsOf(
        "subscription",
        ["updated", "ended"],
        { ...active, units: 1 },
        { ...ended, units: 2 },
      ),
    ).toEqual(['subscription.ended {"status":"active","units":1}']);
    expect(eventsOf("subscription", ["ended", "updated"], active, active)).toEqual([
      "subscription.updated {}",
    ]);
    expect(eventsOf("subscription", ["ended"], active, { status: "complete" })).toEqual([
      'subscription.ended {"status":"active"}',
    ]);
  });

  test("and is an invoice, has its status: paid, voided or deleted", () => {
    const before = { status: "approved" };
    expect(eventsOf("invoice", ["paid"], before, { status: "paid" })).toEqual([
      'invoice.paid {"status":"approved"}',
    ]);
    expect(eventsOf("invoice", ["paid", "voided"], before, { status: "voided" })).toEqual([
      'invoice.voided {"status":"approved"}',
    ]);
    expect(eventsOf("invoice", ["deleted"], before, { status: "deleted" })).toEqual([
      'invoice.deleted {"status":"approved"}',
    ]);
    expect(eventsOf("invoice", ["paid", "updated"], before, before)).toEqual([
      "invoice.updated {}",
    ]);
    expect(eventsOf("credit_note", ["deleted"], before, { status: "deleted" })).toEqual([
      'credit_note.deleted {"status":"approved"}',
    ]);
  });

  test("has no event if its retrieval is as before", () => {
    expect(eventsOf("invoice", ["updated", "updated"], active, active)).toEqual([]);
  });
});

test("an object from before the webhooks is updated, without previous values", () => {
  expect(eventsOf("customer", ["updated"], null, active)).toEqual(["customer.updated {}"]);
  expect(eventsOf("subscription", ["ended"], null, ended)).toEqual(["subscription.ended {}"]);
});

test("the kinds are those of the specification, each of a kind of object", () => {
  // The manual repeats the table of the specification. A missing kind could not be subscribed to.
  const manual = readFileSync(
    new URL("../../../proto/billing/v1/events.proto", import.meta.url),
    "utf8",
  );
  for (const type of eventTypes) expect(manual).toContain(`\`${type}\``);
  const named = [
    ...manual.matchAll(/`((?:customer|subscription|invoice|credit_note)\.[a-z]+)`/g),
  ].map(([, type]) => type);
  expect([...new Set(named)].sort()).toEqual([...eventTypes].sort());
  expect(new Set(eventTypes.map((type) => type.split(".")[0]))).toEqual(new Set(objectKinds));
});

test("the body has its members in their order, and the object's own text", () => {
  const body = eventBody({
    id: "e-1",
    type: "customer.updated",
    createdAt: new Date("2026-03-01T12:00:00.5Z"),
    livemode: false,
    sequence: 12n,
    object: '{"id":"c","name":"A \\" b"}',
    previousAttributes: '{"name":"x"}',
  });
  expect(body).toBe(
    '{"id":"e-1","object":"event","type":"customer.updated","api_version":"1.0.0",' +
      '"created":"2026-03-01T12:00:00.500Z","livemode":false,"sequence":12,' +
      '"data":{"object":{"id":"c","name":"A \\" b"},"previous_attributes":{"name":"x"}}}',
  );
});
