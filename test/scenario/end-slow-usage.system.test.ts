/**
 * Usage reported while the ledger delays an end past the renewal date: nothing after the end is
 * stored or billed. END-9.
 */
import { expect } from "vitest";
import { newestJob } from "../support/rows.ts";
import { until } from "../support/system.ts";
import { expectBilledOnce } from "./billed-once.ts";
import { scenarioTest as test } from "./fixtures.ts";
import { addMeter, usageEvent } from "./usage-builder.ts";

test.concurrent.for([
  ["now", "ended"],
  ["period_end", "complete"],
])("an end with %s, finished after the renewal date, bills its usage", async ([when, status], {
  builder,
  reports,
  system,
  runs,
}) => {
  const own = await builder.sandbox({
    usage_allowed: true,
    invoice_create_days: 20,
    first_invoice_status: "approved",
  });
  await addMeter(system.pool, own.organisationId);
  await builder.setClock(own, "2026-04-16");
  const { id } = await builder.subscribe(own, { start_date: "2026-04-01" });
  const [renewal] = await builder.invoices(own, id);
  const match = `POST /api.xro/2.0/Invoices/${renewal.ledger.invoice_id}`;
  await system.fault({ kind: "slow_before", delayMs: 3_000, match, tenantId: own.tenantId });
  const termination = builder.ended(own, id, { when });
  const ending = { subscriptionId: id, kind: "end_subscription" };
  await until("the end is under way", () => newestJob(system.pool, ending));
  await builder.setClock(own, "2026-05-03");
  const before = usageEvent(id, "2026-04-30T23:59:59+02:00", { quantity: "100" });
  const after = [
    usageEvent(id, "2026-05-01T00:00:00+02:00"),
    usageEvent(id, "2026-05-02T12:00:00Z"),
  ];
  const verdicts = ["created", "after_subscription_end", "after_subscription_end"];
  expect(await reports.verdicts(own, [before, ...after])).toEqual(verdicts);
  expect(await termination).toMatchObject({ end_date: "2026-05-01" });
  await runs.untilDone(own.organisationId);
  await until(
    "its last usage is billed",
    async () => (await builder.summaries(own, id))[0] === "INV-0003 usage approved",
  );
  expect(await builder.subscription(own, id)).toMatchObject({ status, end_date: "2026-05-01" });
  const [usage] = await builder.invoices(own, id);
  expect(usage.lines).toMatchObject([{ amount: "50.0000", quantity: "100.0000" }]);
  await builder.expectEqualDocuments(own);
  await expectBilledOnce(system, own);
});
