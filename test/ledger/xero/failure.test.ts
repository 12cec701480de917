/** What each answer of Xero means to billing: the table of facts-ledger section 5.2. */
import { describe, expect, test } from "vitest";
import { failureOfSilence } from "../../../src/ledger/port/failures.ts";
import type { HttpReply } from "../../../src/ledger/port/http/exchange.ts";
import {
  failureOfReply,
  isElementRefused,
  messagesOf,
  readReply,
  refusalReasonOf,
} from "../../../src/ledger/xero/wire/failure.ts";

function reply(
  status: number,
  body: unknown = "",
  headers: Record<string, string> = {},
): HttpReply {
  return {
    kind: "replied",
    status,
    headers,
    text: typeof body === "string" ? body : JSON.stringify(body),
  };
}

const validation = (message: string) => ({
  ErrorNumber: 10,
  Type: "ValidationException",
  Message: "A validation exception occurred",
  Elements: [{ ValidationErrors: [{ Message: message }] }],
});

describe("reasons", () => {
  test.each([
    [
      "has_payment_or_credit",
      "The status VOIDED cannot be applied to the invoice " +
        "because it has payments or credit notes allocated to it.",
    ],
    [
      "has_payment_or_credit",
      "This document cannot be edited as it has a payment or credit note allocated to it.",
    ],
    [
      "has_payment_or_credit",
      "The status DRAFT cannot be applied to the invoice " +
        "because it has payments or credit notes allocated to it.",
    ],
    ["wrong_status", "Invoice not of valid status for modification"],
    ["wrong_status", "Credit Note not of valid status for allocation"],
    ["wrong_status", "The status DRAFT cannot be applied to the invoice."],
    ["wrong_status", "The invoice must be AUTHORISED"],
    ["wrong_status", "The credit note has been voided"],
    ["duplicate_number", "Invoice # must be unique."],
    [
      "duplicate_contact",
      "The contact name X is already assigned to another contact. " +
        "The contact name must be unique across all active contacts.",
    ],
    ["duplicate_contact", "Another contact has this contact number"],
    ["contact_inactive", "The contact with the specified contact details has been archived."],
    ["account_invalid", "Account code 'x' is not a valid code for this document"],
    ["account_invalid", "Account must be valid."],
    ["tax_invalid", "The TaxType code x cannot be used with account code y"],
    ["tax_invalid", "Tax rate must be valid."],
    ["currency_not_enabled", "Organisation is not subscribed to currency XXX"],
    [
      "period_locked",
      "The document date cannot be before the end of year lock date, " +
        "currently set at 31 March 2026",
    ],
    ["approval_limit", "You have reached the limit of invoices you can approve"],
    [
      "amount_exceeds",
      "Credit Note cannot be allocated as amount is greater than amount outstanding",
    ],
    ["amount_exceeds", "The invoice you are trying to allocate to has already been paid off"],
    ["amount_exceeds", "The amount is greater than the remaining credit"],
    ["not_found", "An existing Credit Note with the specified CreditNoteID could not be found"],
    ["account_invalid", "Account code '205' has been archived or has been deleted."],
    ["validation", "Credit Note cannot be allocated to an incorrect invoice type"],
    ["not_permitted", "User does not have permission to approve invoices"],
    ["validation", "Something that nobody has seen before"],
  ] as const)("%s: %s", (reason, message) => {
    expect(refusalReasonOf([message])).toBe(reason);
    const failure = failureOfReply(reply(400, validation(message)), true);
    expect(failure).toEqual({ kind: "refused", reason, messages: [message] });
  });
});

test("of several messages the one that says most counts", () => {
  const outstanding =
    "Credit Note cannot be allocated as amount is greater than amount outstanding";
  const paidOff = "The invoice you are trying to allocate to has already been paid off";
  const otherType = "Credit Note cannot be allocated to an incorrect invoice type";
  expect(refusalReasonOf([paidOff, outstanding, otherType])).toBe("amount_exceeds");
  expect(refusalReasonOf([outstanding, "Invoice not of valid status for modification"])).toBe(
    "wrong_status",
  );
  expect(refusalReasonOf([outstanding, "Invoice could not be found"])).toBe("not_found");
});

describe("statuses", () => {
  test.each([
    [
      400,
      "",
      { kind: "refused", reason: "validation", messages: ["The ledger refused without a reason."] },
    ],
    [403, { Detail: "AuthenticationUnsuccessful" }, { kind: "unauthorised", why: "disconnected" }],
    [404, "The resource cannot be found", { kind: "refused", reason: "not_found" }],
    [409, "", { kind: "refused", reason: "stale" }],
    [412, "", { kind: "refused", reason: "stale" }],
    [413, "", { kind: "refused", reason: "validation" }],
    [
      401,
      { Title: "Unauthorized", Detail: "TokenExpired" },
      { kind: "unauthorised", why: "expired" },
    ],
  ])("%i is the same for a read and a write", (status, body, expected) => {
    expect(failureOfReply(reply(status, body), true)).toMatchObject(expected);
    expect(failureOfReply(reply(status, body), false)).toMatchObject(expected);
  });

  test.each([
    302, 408, 502, 503, 504,
  ])("%i leaves a write unknown and a read free to repeat", (status) => {
    const html = "<html><body>Sorry</body></html>";
    const unavailable = { kind: "unavailable", cause: `the ledger answered ${status}` };
    expect(failureOfReply(reply(status, html), true)).toEqual({
      ...unavailable,
      outcome: "unknown",
    });
    expect(failureOfReply(reply(status, html), false)).toEqual({
      ...unavailable,
      outcome: "not_sent",
    });
  });

  test.each([500, 501])("%i is what the ledger answers again to the same key", (status) => {
    const unavailable = {
      kind: "unavailable",
      cause: `the ledger answered ${status}`,
      isRemembered: true,
    };
    expect(failureOfReply(reply(status, "<html>"), true)).toEqual({
      ...unavailable,
      outcome: "unknown",
    });
  });

  test("ErrorNumber 51 is a query that the ledger cannot answer, never a refusal", () => {
    const body = {
      ErrorNumber: 51,
      Type: "HighVolumeException",
      Message: "Due to the high number of contacts",
    };
    const expected = { kind: "high_volume", message: "Due to the high number of contacts" };
    expect(failureOfReply(reply(400, body), false)).toEqual(expected);
  });

  test.each([
    "Forbidden",
    "User does not have permission to access this resource",
    "Not permitted",
  ])("403 with %j is a right that a person lacks, and the connection stands", (Detail) => {
    const failure = failureOfReply(reply(403, { Title: "Forbidden", Status: 403, Detail }), true);
    expect(failure).toMatchObject({
      kind: "refused",
      reason: "not_permitted",
      messages: [expect.stringContaining(Detail)],
    });
  });

  test.each([
    "",
    "<html>Access denied</html>",
    "{}",
  ])("403 with %j in its body was let through by nobody", (body) => {
    expect(failureOfReply(reply(403, body), true)).toMatchObject({
      kind: "unavailable",
      outcome: "not_sent",
    });
  });

  test.each([
    "insufficient_scope",
    'Bearer error="insufficent_scope"',
  ])("401 with %s is a missing scope", (header) => {
    const failure = failureOfReply(reply(401, "", { "www-authenticate": header }), true);
    expect(failure).toMatchObject({ kind: "unauthorised", why: "insufficient_scope" });
  });

  test("a key met with another request leaves the write unknown, never refused", () => {
    const body = { Message: "Idempotency Key: abc is used with a different request." };
    expect(failureOfReply(reply(400, body), true)).toMatchObject({
      kind: "unavailable",
      outcome: "unknown",
    });
  });

  test.each([
    ["minute", "12", "minute", 12_000],
    ["day", "73451", "day", 73_451_000],
    ["Concurrent", "", "concurrent", 1_000],
    ["appminute", "3", "app", 3_000],
    ["", "", "minute", 60_000],
  ])("429 for %s waits as long as the answer says", (problem, retryAfter, scope, retryAfterMs) => {
    const headers = { "x-rate-limit-problem": problem, "retry-after": retryAfter };
    expect(failureOfReply(reply(429, "", headers), true)).toEqual({
      kind: "rate_limited",
      scope,
      retryAfterMs,
    });
  });

  test("a 2xx that cannot be read leaves a write unknown", () => {
    for (const text of ["", "<html>", "[]", '"text"']) {
      expect(readReply(reply(200, text), true)).toMatchObject({
        kind: "unavailable",
        outcome: "unknown",
      });
    }
  });

  test("silence before sending is not sent, after it unknown for a write only", () => {
    const silent = { kind: "silent", cause: "ECONNRESET" } as const;
    expect(failureOfSilence({ ...silent, sent: false }, true)).toMatchObject({
      outcome: "not_sent",
    });
    expect(failureOfSilence({ ...silent, sent: true }, true)).toMatchObject({ outcome: "unknown" });
    expect(failureOfSilence({ ...silent, sent: true }, false)).toMatchObject({
      outcome: "not_sent",
    });
  });
});

describe("elements", () => {
  test("the errors of an element and its parts are each reported once", () => {
    const element = {
      ValidationErrors: [{ Message: "a" }, { Message: "" }, {}],
      Contact: { ValidationErrors: [{ Message: "b" }] },
      LineItems: [{ ValidationErrors: [{ Message: "c" }, { Message: "a" }] }, {}],
      Allocations: [{ ValidationErrors: [{ Message: "d" }] }],
      Invoice: { ValidationErrors: [{ Message: "e" }] },
    };
    expect([...messagesOf(element)].sort()).toEqual(["a", "b", "c", "d", "e"]);
    expect(isElementRefused(element)).toBe(true);
  });

  test.each([
    { HasErrors: true },
    { HasValidationErrors: true },
    { StatusAttributeString: "ERROR" },
  ])("a flag alone refuses an element: %o", (flag) => expect(isElementRefused(flag)).toBe(true));

  test("a warning refuses nothing", () => {
    const element = {
      HasErrors: false,
      StatusAttributeString: "WARNING",
      Warnings: [{ Message: "odd" }],
    };
    expect(isElementRefused(element)).toBe(false);
  });
});
