/** `billing overview`, `billing attention` and `billing search`, as a person reads them. */
import { expect } from "vitest";
import {
  AttentionKind,
  AttentionSeverity,
} from "../../../../../src/gen/proto/billing/admin/v1/attention_pb.ts";
import { DocumentState } from "../../../../../src/gen/proto/billing/admin/v1/documents_pb.ts";
import { LedgerState } from "../../../../../src/gen/proto/billing/admin/v1/overview_pb.ts";
import { SearchedBy } from "../../../../../src/gen/proto/billing/admin/v1/search_pb.ts";
import { WebhookEndpointStatus } from "../../../../../src/gen/proto/billing/admin/v1/webhooks_pb.ts";
import { SubscriptionStatus } from "../../../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { organisation, run, cliTest as test } from "../../calls-fixture.ts";

const checked = "2026-11-28T00:41:07.123Z";

const since = "2026-11-27 22:10";

const waiting = (id: string, label: string, sameReasonCount: number) => ({
  id,
  organisation,
  kind: AttentionKind.DOCUMENT_REFUSED,
  severity: AttentionSeverity.MEDIUM,
  objectKind: "invoice",
  objectId: id,
  label,
  since: "2026-11-27T22:10:00.000Z",
  reason: "account_invalid",
  message: "The ledger does not take an account of it.",
  answer: "Account 999 is archived.",
  sameReasonCount,
  acts: [{ method: "x", summary: "Choose another account", arguments: [] }],
});

test("attention is one sentence if nothing waits", async ({ server }) => {
  server.answer({
    ListAttention: () => ({ checked }),
    CountAttention: () => ({ checked }),
  });
  const sentence = "Nothing needs a person. Checked 00:41:07 UTC.\n";
  for (const words of ["attention", "attention list --all", "attention count"])
    expect((await run(words, { env: server.env })).out).toBe(sentence);
  expect(server.received.map(({ request }) => request)).toEqual([{}, { limit: 100 }, {}]);
});

test("attention shows what waits, why and what helps", async ({ server }) => {
  server.answer({
    ListAttention: () => ({
      data: [
        waiting("a.1", "SUB-0042", 14),
        {
          ...waiting("a.2", "Acme · Office", 1),
          kind: AttentionKind.SUBSCRIPTION_PARKED,
          answer: undefined,
          message: "Billing could not perform what is due.",
          acts: [{ method: "x", summary: "Retry it now", arguments: [] }],
        },
      ],
      checked,
    }),
  });
  const { out } = await run("attention", { env: server.env });
  const [sentence, gap, ...table] = out.split("\n");
  expect([sentence, gap]).toEqual(["2 things need a person. Checked 00:41:07 UTC.", ""]);
  const why = "Account 999 is archived.";
  const parked = "Billing could not perform what is due.";
  expect(table.map((line) => line.split(/ {2,}/))).toEqual([
    ["severity", "what", "label", "since", "why", "same", "what helps"],
    ["medium", "document refused", "SUB-0042", since, why, "14", "Choose another account"],
    ["medium", "subscription parked", "Acme · Office", since, parked, "Retry it now"],
    [""],
  ]);
});

test("attention and overview fit into 80 columns, also with long names", async ({ server }) => {
  const name = "The Very Long Name of a Company in Liquidation (Holdings) Limited, Head Office";
  server.answer({
    ListAttention: () => ({ data: [waiting("a.1", name, 14), waiting("a.2", "B", 1)], checked }),
    GetOverview: () => ({
      ledger: { state: LedgerState.PAUSED, reason: name },
      endpoints: [{ url: "https://shop.example/", failed: 3, waiting: 2, failingSince: since }],
    }),
  });
  const around = { env: server.env, columns: 80 };
  const { out } = await run("attention", around);
  expect(out.split("\n").slice(2, 12)).toEqual([
    "severity    medium",
    "what        document refused",
    "label       The Very Long Name of a Company in Liquidation (Holdings) Limited,",
    "            Head Office",
    `since       ${since}`,
    "why         Account 999 is archived.",
    "same        14",
    "what helps  Choose another account",
    "",
    "severity    medium",
  ]);
  const overview = (await run("overview", around)).out;
  expect(`${out}${overview}`.split("\n").filter(({ length }) => length > 80)).toEqual([]);
  expect(overview).toMatch(/^webhooks {2}https:.*\n {10}\S/m);
});

test("attention names the next page, and --all reads every page", async ({ server }) => {
  const answer = (request: object) =>
    "startingAfter" in request && request.startingAfter === "a.1"
      ? { data: [waiting("a.2", "SUB-0043", 1_000)], checked }
      : { data: [waiting("a.1", "SUB-0042", 1)], hasMore: true, checked };
  server.answer({ ListAttention: answer });
  const first = await run("attention", { env: server.env });
  expect(first.out).toMatch(/^1 thing and more need a person\. /);
  expect(first.err).toBe("There are more: use --all, or --starting-after a.1\n");
  const all = await run("attention --all", { env: server.env });
  expect(all.out).toMatch(/^2 things need a person\. Checked 00:41:07 UTC\.\n/);
  expect(all.out).toContain("1,000+");
  const csv = await run("attention list -o csv", { env: server.env });
  expect(csv.out).toMatch(/^id,organisation,severity,/);
});

test("search shows what was found by what", async ({ server }) => {
  server.answer({
    Search: () => ({
      hits: [
        {
          by: SearchedBy.NUMBER,
          objectKind: "credit_note",
          objectId: "0199",
          organisation: "0198",
          label: "CN-0007",
          exact: true,
        },
      ],
    }),
  });
  const { out } = await run("search CN-0007", { env: server.env });
  expect(out.split("\n")).toEqual([
    "1 found.",
    "",
    "what         label    id    found by  organisation",
    "credit note  CN-0007  0199  number    0198",
    "",
  ]);
  expect(server.received.map(({ request }) => request)).toEqual([{ text: "CN-0007" }]);
  server.answer({});
  expect((await run(["search", "a b"], { env: server.env })).out).toBe(
    "Nothing was found by this id or this beginning.\n",
  );
});

test("a search by the ledger's number shows ours, and theirs beside it", async ({ server }) => {
  const hit = { by: SearchedBy.LEDGER_NUMBER, objectKind: "invoice", objectId: "0199" };
  const hits = [{ ...hit, organisation: "0198", label: "INV-0005", matched: "I2026-1" }];
  server.answer({ Search: () => ({ hits }) });
  const { out } = await run("search I2026", { env: server.env });
  expect(out.split("\n").slice(2)).toEqual([
    "what     label     id    found by               organisation",
    "invoice  INV-0005  0199  ledger number I2026-1  0198",
    "",
  ]);
});

const renewal = (count: number, amount: string) => ({
  count,
  values: count === 0 ? [] : [{ currency: "NZD", amount }],
});

test("overview is a sentence and a small table", async ({ server }) => {
  server.answer({
    GetOverview: () => ({
      asOf: checked,
      today: "2026-11-28",
      recurring: [{ currency: "NZD", perMonth: "1234567.5000", subscriptions: 1_204 }],
      subscriptions: [{ status: SubscriptionStatus.ACTIVE, count: 1_204 }],
      started: 14,
      ended: 2,
      parked: 1,
      renewals: [
        {
          date: "2026-11-20",
          due: renewal(0, ""),
          billed: renewal(3, "30.2500"),
          failed: renewal(1, "5.0000"),
        },
        {
          date: "2026-11-29",
          due: renewal(2, "100.1250"),
          billed: renewal(0, ""),
          failed: renewal(0, ""),
        },
      ],
      documents: [{ state: DocumentState.FAILED, count: 1 }],
      notInLedger: { count: 1, oldest: "2026-11-20T02:10:00.000Z" },
      ledger: {
        state: LedgerState.CONNECTED,
        lastSync: "2026-11-28T00:30:00.000Z",
        callsLeft: 4_870,
        callsLimit: 5_000,
      },
      endpoints: [
        {
          id: "1",
          url: "https://shop.example/hooks",
          status: WebhookEndpointStatus.ENABLED,
          failed: 3,
          waiting: 0,
        },
      ],
    }),
  });
  const { out } = await run("overview", { env: server.env });
  expect(out.split("\n")).toEqual([
    "As of 00:41:07 UTC, on 2026-11-28.",
    "",
    "a month        NZD 1,234,567.50 of 1,204 subscriptions",
    "subscriptions  1,204 active; 14 began and 2 ended in 30 days; 1 parked",
    "due in 7 days  2 renewals, NZD 100.125",
    "last 30 days   3 renewals, NZD 30.25 billed, 1 renewal, NZD 5.00 failed",
    "documents      1 failed; 1 not in the ledger, the oldest since 2026-11-20 02:10",
    "ledger         connected, last sync 2026-11-28 00:30, 4870 of 5000 calls left today",
    "webhooks       https://shop.example/hooks enabled, 3 failed in 24 hours",
    "",
  ]);
});

test("overview says that the figures are not reckoned yet", async ({ server }) => {
  server.answer({ GetOverview: () => ({ ledger: { state: LedgerState.NONE } }) });
  expect((await run("overview", { env: server.env })).out.split("\n")).toEqual([
    "The figures are not reckoned yet. A worker does it within a minute.",
    "",
    "ledger  none",
    "",
  ]);
});

test("status shows what waits for a person, and the figures", async ({ server }) => {
  server.answer({ ListAttention: () => ({ checked: "2026-11-28T00:41:07.000Z" }) });
  const { out } = await run("status", { env: server.env });
  expect(out.split("\n").slice(0, 3)).toEqual([
    "Nothing needs a person. Checked 00:41:07 UTC.",
    "",
    "The figures are not reckoned yet. A worker does it within a minute.",
  ]);
  const { BILLING_ORGANISATION: _none, ...env } = server.env;
  server.answer({});
  await run("status", { env });
  expect(server.received.map(({ method, request }) => [method, request])).toEqual([
    ["ListAttention", { limit: 5 }],
  ]);
});
