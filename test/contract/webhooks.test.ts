/**
 * The document describes what endpoints are sent: every kind of event, with the object's own
 * schema, true to what is sent.
 */
import { describe, expect, test } from "vitest";
import {
  type EventType,
  eventBody,
  eventTypes,
  testEventType,
} from "../../src/domain/events/event.ts";
import { at, closed, document, type Json, resolve, schemaFaults } from "./answer-check.ts";

const webhooks = at(document, "webhooks") ?? {};

/** What the document says of the request of a kind of event. */
function contentOf(type: string): { readonly schema: Json; readonly example: Json } {
  const content = at(
    document,
    "webhooks",
    type,
    "post",
    "requestBody",
    "content",
    "application/json",
  );
  return content as { schema: Json; example: Json };
}

test("every kind has its webhook, and so has the test event", () => {
  expect(Object.keys(webhooks)).toEqual([...eventTypes, testEventType]);
});

describe.each([...eventTypes, testEventType] as const)("%s", (type:
  | EventType
  | typeof testEventType) => {
  const { schema, example } = contentOf(type);

  test("has an example that its own schema accepts, closed to unknown members, and no other kind's does", () => {
    expect(schemaFaults(closed(schema), example)).toEqual([]);
    expect(schemaFaults(closed(schema), { ...example, type: "other" })).not.toEqual([]);
    expect(
      schemaFaults(closed(schema), { ...example, data: { object: {}, previous_attributes: null } }),
    ).not.toEqual([]);
  });

  test("has the body that is sent", () => {
    const data = at(example, "data") ?? {};
    const body = eventBody({
      id: String(example.id),
      type,
      createdAt: new Date("2026-03-01T12:00:00Z"),
      livemode: true,
      sequence: BigInt(Number(example.sequence)),
      object: JSON.stringify(data.object),
      previousAttributes:
        data.previous_attributes === null ? null : JSON.stringify(data.previous_attributes),
    });
    expect(body).toBe(JSON.stringify(example));
  });

  test("is described, carries the signature and no key, and says how it is answered", () => {
    const post = at(webhooks, type, "post") ?? {};
    expect(post.description).toMatch(/\w\.$/);
    expect(post.security).toEqual([]);
    expect(post.parameters).toMatchObject([
      { name: "Billing-Signature", in: "header", required: true },
    ]);
    expect(Object.keys(post.responses as Json).sort()).toEqual(["2XX", "410", "default"]);
  });
});

test("the object is that of its retrieval, by the same schema", () => {
  const names = {
    customer: "Customer",
    subscription: "Subscription",
    invoice: "Invoice",
    credit_note: "CreditNote",
  };
  for (const [group, name] of Object.entries(names)) {
    expect(JSON.stringify(contentOf(`${group}.updated`).schema)).toContain(
      `"#/components/schemas/${name}"`,
    );
    expect(resolve(`#/components/schemas/${name}`)).toBeDefined();
  }
});
