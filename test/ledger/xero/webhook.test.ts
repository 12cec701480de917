/** A webhook is trusted for its signature over its bytes, and for ids to read only. */
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { readXeroWebhook } from "../../../src/ledger/xero/webhook.ts";

const key = "k".repeat(32);
const id = "55d84274-a3da-4829-a7c0-0cab601b95cc";
const tenantId = "aef86862-2015-4b6b-88bc-d89032cecc50";
const event = {
  resourceUrl: `https://api.xero.com/api.xro/2.0/CreditNotes/${id}`,
  resourceId: id.toUpperCase(),
  tenantId,
  tenantType: "ORGANISATION",
  eventCategory: "CREDITNOTE",
  eventType: "UPDATE",
  eventDateUtc: "2025-12-02T00:44:09.923",
};

function deliver(
  body: string,
  signature = createHmac("sha256", key).update(body).digest("base64"),
) {
  return readXeroWebhook({ rawBody: Buffer.from(body), signature }, key);
}

function bodyOf(...events: readonly object[]): string {
  return JSON.stringify({ events, firstEventSequence: 1, lastEventSequence: 1, entropy: "X" });
}

test("a notification names the tenant, the object and the time of the change", () => {
  const notifications = [
    { tenantId, kind: "credit_notes", ledgerId: id, changedAt: "2025-12-02T00:44:09.923Z" },
  ];
  expect(deliver(bodyOf(event))).toEqual({ kind: "valid", notifications });
});

test("a time without milliseconds is invalid", () => {
  for (const eventDateUtc of ["2025-12-02T00:44:09", "2025-13-02T00:44:09.923", "yesterday", 5]) {
    expect(deliver(bodyOf({ ...event, eventDateUtc }))).toMatchObject({
      notifications: [{ changedAt: null }],
    });
  }
});

test("without events, or with unreadable or ignored ones, has no changes", () => {
  const others = [
    { ...event, eventCategory: "SUBSCRIPTION" },
    { ...event, resourceId: "../Contacts" },
    { ...event, tenantId: null },
    {},
  ];
  expect(deliver(bodyOf())).toEqual({ kind: "valid", notifications: [] });
  expect(deliver(bodyOf(...others))).toEqual({ kind: "valid", notifications: [] });
  expect(deliver("no JSON")).toEqual({ kind: "valid", notifications: [] });
});

test("one byte of the body, another key, or no signature makes it invalid", () => {
  const body = bodyOf(event);
  const right = createHmac("sha256", key).update(body).digest("base64");
  const wrong = createHmac("sha256", `${key} `).update(body).digest("base64");
  for (const signature of ["", wrong, right.slice(0, -1), `${right}=`, right.toLowerCase()]) {
    expect(deliver(body, signature)).toEqual({ kind: "invalid" });
  }
  expect(deliver(`${body} `, right)).toEqual({ kind: "invalid" });
});
