/** Usage billed by ends, and usage that the ledger refuses. USAGE-9, USAGE-15, SETUP-2. */
import { describe, expect } from "vitest";
import { tables } from "../support/rows.ts";
import { expectBilledOnce } from "./billed-once.ts";
import type { Json } from "./units-builder.ts";
import { calls, storage, meteredTest as test } from "./usage-billing-fixture.ts";

const mayDays = { start: "2026-05-01", end: "2026-06-01" };
const now = { when: "now" };

describe.concurrent("an end", () => {
  test("now bills usage of up to two periods on one invoice that it keeps", async ({
    system,
    clocks,
    metered,
    use,
    to,
    shown,
  }) => {
    const [own, id] = await metered();
    await to(own, "2026-04-20");
    await use(own, id, ["100", "2026-04-20"]);
    await to(own, "2026-05-10");
    await use(own, id, ["10", "2026-04-30"], ["30", "2026-05-09"]);
    await clocks.ended(own, id, { ...now, delete_unsent_invoices: true });
    await clocks.posted(own);
    expect(await shown(own, id)).toEqual([
      ["first deleted", "plan 100.0000"],
      ["renewal deleted", "plan 100.0000", "2.0000 100 call: 100 × 0.0200"],
      [
        "usage draft",
        "0.2000 10 call more in the period from 2026-04-01: " +
          "110 × 0.0200 for 110, less 100 × 0.0200 for 100",
        "0.6000 30 call: 30 × 0.0200",
      ],
    ]);
    expect((await clocks.invoices(own, id))[0]).toMatchObject({ type: "usage", period: mayDays });
    // It waits for the next day, unless the subscription goes on.
    await use(own, id, ["1", "2026-05-09"]);
    // Its current period's invoice comes again with the usage that stood on it, the first one's
    // does not.
    await clocks.restored(own, id);
    expect((await shown(own, id)).slice(3)).toEqual([
      ["renewal draft", "plan 100.0000", "2.0000 100 call: 100 × 0.0200"],
    ]);
    await use(own, id, ["5", "2026-05-10"]);
    await clocks.posted(own);
    // The usage invoice of the end before goes with this one, and comes again with the restoration.
    await clocks.ended(own, id, { ...now, delete_unsent_invoices: true });
    await clocks.restored(own, id);
    await clocks.posted(own);
    const standing = (await shown(own, id)).filter(([head]) => !head?.includes("deleted"));
    expect(
      standing.map(([head, ...lines]) => [head, ...lines.map((line) => line.split(" ")[0])]),
    ).toEqual([
      ["usage draft", "0.1200"],
      ["usage draft", "0.2000", "0.6000"],
      ["renewal draft", "plan", "2.0000"],
    ]);
    await to(own, "2026-06-01");
    expect((await shown(own, id)).at(-1)).toEqual(["renewal draft", "plan 100.0000"]);
    await clocks.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });
});

test("usage that the ledger refuses for its account is posted after the correction", async ({
  system,
  clocks,
  metered,
  use,
  to,
}) => {
  const [own, id] = await metered({ first_invoice_status: "approved" }, [
    { ...calls, revenueAccount: "999" },
    storage,
  ]);
  const map = (code: string, account: string) =>
    tables(system.pool).meter.updateMany({
      where: { organisationId: own.organisationId, code },
      data: { revenueAccount: account },
    });
  const retried = async ({ id: document }: Json) => {
    await clocks.operator.done("DocumentService/RetryDocument", {
      organisation: own.organisationId,
      id: document,
    });
    await clocks.posted(own);
  };
  const accounts = async (table: string, document: Json) => {
    const text = `SELECT revenue_account FROM ${table}
      WHERE ${document.object}_id = $1 ORDER BY position`;
    return (await system.pool.query(text, [document.id])).rows.map(
      ({ revenue_account }) => revenue_account,
    );
  };
  const failed = {
    status: "not_in_external",
    ledger: { sync_status: "failed", sync_error: expect.stringContaining("999") },
  };
  await to(own, "2026-04-20");
  await use(own, id, ["100", "2026-04-20"], ["10", "2026-04-20", "storage"]);
  await to(own, "2026-05-01");
  const [usage] = await clocks.invoices(own, id);
  expect(usage).toMatchObject({ type: "usage", ...failed });
  await map("api-calls", "260");
  await retried(usage);
  expect(await accounts("invoice_lines", usage)).toEqual(["260", "200"]);
  await map("storage", "999");
  await use(own, id, ["1", "2026-04-30", "storage"]);
  await to(own, "2026-06-01");
  const [note] = await clocks.creditNotes(own, id);
  expect(note).toMatchObject({ subtotal: "9.0000", ...failed });
  await map("storage", "260");
  await retried(note);
  expect(await accounts("credit_note_lines", note)).toEqual(["260"]);
  expect((await clocks.creditNotes(own, id))[0]).toMatchObject({
    status: "approved",
    ledger: { sync_status: "synced" },
  });
  await clocks.expectEqualDocuments(own);
  await expectBilledOnce(system, own);
});
