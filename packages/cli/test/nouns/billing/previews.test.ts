/** What a person reads of the previews of usage, of a sandbox's clock and of Setup Mode. */
import { expect } from "vitest";
import { organisation, run, cliTest as test } from "../../calls-fixture.ts";

const unchanged = "Nothing is changed by this preview.";

test("voiding an event shows its usage with it and without", async ({ server }) => {
  const period = { start: "2026-03-01", end: "2026-04-01" };
  const event = { id: "evt-1", quantity: "100.5000", meter: { name: "API calls" }, period };
  const before = { events: 3n, quantity: "600.5000", amount: "1.2010" };
  const after = { events: 2n, quantity: "500.0000", amount: "1.0000" };
  server.answer({ PreviewVoidUsageEvent: () => ({ event, before, after, currency: "NZD" }) });
  const usage = "Without the event evt-1 of 100.5, the usage of API calls from 2026-03-01 to ";
  const { out } = await run("usage preview-void evt-1", { env: server.env });
  expect(out.split("\n")).toEqual([
    `${usage}2026-04-01 comes to NZD 1.00, not NZD 1.201 (without tax). ${unchanged}`,
    "",
    "usage              events  quantity  NZD",
    "as it is           3       600.5     1.201",
    "without the event  2       500       1.00",
    "",
  ]);
  server.answer({
    PreviewVoidUsageEvent: () => ({ event, before: after, after, currency: "NZD" }),
  });
  expect((await run("usage preview-void evt-1", { env: server.env })).out).toContain(
    "comes to NZD 1.00, as with it (without tax)",
  );
});

const way = { from: "2026-11-28T09:00:00.000Z", to: "2026-12-28T09:00:00.000Z" };
const goes = "The clock goes from 2026-11-28 09:00 to 2026-12-28 09:00 UTC, and ";

test("an advance shows what falls due, and what is billed", async ({ server }) => {
  const total = { currency: "NZD", invoices: 2, invoiced: "1250.0000", creditNotes: 1 };
  const totals = [{ ...total, credited: "5.0000" }];
  const counts = { subscriptions: 3, starts: 1, renewals: 2, parked: 1 };
  server.answer({
    PreviewAdvanceTestClock: () => ({ ...way, ...counts, totals, hasMore: true }),
  });
  const { out } = await run("clock preview-advance --months 1", { env: server.env });
  expect(out.split("\n")).toEqual([
    `${goes}something falls due for 3 subscriptions. ${unchanged}`,
    "",
    "begins     1 subscription",
    "renews     2 periods",
    "completes  nothing",
    "is parked  1 subscription",
    "",
    "currency  invoices  without tax  credit notes  without tax",
    "NZD       2         1,250.00     1             5.00",
    "",
    "More falls due: these are the earliest subscriptions.",
    "",
  ]);
});

test("an advance on whose way nothing falls due says so", async ({ server }) => {
  server.answer({ PreviewAdvanceTestClock: () => way });
  expect((await run("clock preview-advance --days 1", { env: server.env })).out).toBe(
    `${goes}nothing falls due on the way. ${unchanged}\n`,
  );
});

test("a switch of Setup Mode shows what is billed before, and the effects", async ({ server }) => {
  const effects = ["Changing units is refused.", "Held credit is not allocated."];
  server.answer({ PreviewSetSetupMode: () => ({ changed: true, effects, dueSubscriptions: 2 }) });
  const words = (to: string) => `organisations preview-setup-mode ${organisation} ${to}`;
  const { out } = await run(words("on"), { env: server.env });
  expect(out.split("\n")).toEqual([
    `Setup Mode is turned on. ${unchanged}`,
    "",
    "What is due of 2 subscriptions is billed before it.",
    "",
    "From then on:",
    ...effects.map((effect) => `  ${effect}`),
    "",
  ]);
  server.answer({ PreviewSetSetupMode: () => ({ changed: true, unbilledSubscriptions: 1 }) });
  expect((await run(words("off"), { env: server.env })).out.split("\n")).toEqual([
    `Setup Mode is turned off. ${unchanged}`,
    "",
    "Nothing is due, so nothing is billed before it.",
    "The current period of 1 running subscription began in Setup Mode, so nothing more of it is " +
      "billed.",
    "",
  ]);
  server.answer({});
  expect((await run(words("off"), { env: server.env })).out).toBe(
    `Setup Mode is off already. ${unchanged}\n`,
  );
});
