/**
 * Random changes over months from fixed seeds, each amendment done, refused or closed. In the end
 * the documents of a subscription bill every period once for its billed units (UNITS-4).
 */
import { describe, expect } from "vitest";
import { changeTo } from "../../domain/subscriptions/billing-state-builder.ts";
import { databaseTest as test } from "../../support/fixtures.ts";
import { expectAllPublished } from "../../support/published-events.ts";
import { type LedgerSays, type WindowFixture, windowFixture } from "./window-fixture.ts";

/** Whole numbers from 0 to below `below`, the same for the same seed. */
type Pick = (below: number) => number;

function pickFrom(seed: number): Pick {
  let state = seed * 7_919 + 13;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** The price of a whole period. */
const value = (isBands: boolean, units: number) => (isBands && units > 10 ? 8 : 10) * units;

/** A change that the day allows. Prorated ones are on a first day, so no amount is rounded. */
async function anyChange(fixture: WindowFixture, pick: Pick): Promise<void> {
  const [current] = await fixture.rows(`SELECT p.start_date, EXISTS (SELECT 1 FROM invoices i
      WHERE i.subscription_id = s.id
      AND i.type = 'renewal' AND i.period_index > s.current_period
        AND i.status NOT IN ('voided', 'deleted')) AS is_window
    FROM subscriptions s JOIN periods p ON p.subscription_id = s.id AND p.index = s.current_period
    WHERE s.id = '${fixture.subscriptionId}'`);
  const prorated = pick(2) === 0 ? { from: current.start_date } : {};
  const document = pick(3) === 0 ? "separate" : "amend";
  const behaviour = pick(2) === 0 ? "charge_on_renewal" : "charge_immediately";
  const outside = prorated.from === undefined ? {} : { behaviour };
  await fixture.change(
    changeTo(1 + pick(16), {
      ...prorated,
      ...(current.is_window ? { document } : outside),
    } as object),
  );
}

/** How often the ledger gave each answer, in all walks. */
const answered = new Map<LedgerSays, number>();

/** Answers a waiting amendment, and sometimes one that was refused before. */
async function anyAnswer(fixture: WindowFixture, pick: Pick): Promise<void> {
  if (pick(3) === 0) {
    const [failed] = await fixture.rows(`SELECT id FROM invoices
        WHERE subscription_id = '${fixture.subscriptionId}'
        AND sync_error IS NOT NULL AND status <> 'not_in_external' ORDER BY seq LIMIT 1`);
    if (failed !== undefined) await fixture.retry(failed.id);
  }
  const [open] = await fixture.rows(`SELECT o.joins, i.status FROM ledger_jobs o
      JOIN invoices i ON i.id = o.invoice_id
    WHERE o.subscription_id = '${fixture.subscriptionId}' AND o.kind = 'amend_invoice'
      AND o.state = 'ready'`);
  if (open === undefined) return;
  const says = saysOf(open, pick);
  answered.set(says, (answered.get(says) ?? 0) + 1);
  await fixture.answer(says, { status: open.status });
}

/** The possible answers. Nothing of a paid invoice is done, unless there is nothing to do. */
function saysOf(
  { joins, status }: { readonly joins: boolean; readonly status: string },
  pick: Pick,
): LedgerSays {
  if (status === "paid") return "paid";
  if (status === "approved" && joins) return "approved";
  const all: readonly LedgerSays[] = [
    "done",
    "done",
    "refused",
    "refused",
    "paid",
    "gone",
    joins ? "approved" : "done",
  ];
  return all[pick(all.length)] ?? "done";
}

/** The amount that all documents of the subscription bill, and the deferred amount. */
async function billedInAll({ rows, subscriptionId: id }: WindowFixture): Promise<number> {
  const [{ billed }] = await rows(`SELECT
      (SELECT coalesce(sum(l.amount), 0) FROM invoices i JOIN invoice_lines l ON l.invoice_id = i.id
        WHERE i.subscription_id = '${id}' AND i.type <> 'first' AND l.kind <> 'usage')
      + (SELECT coalesce(sum(amount), 0) FROM deferred_lines WHERE subscription_id = '${id}'
        AND invoice_id IS NULL)
      - (SELECT coalesce(sum(subtotal), 0) FROM credit_notes
        WHERE subscription_id = '${id}') AS billed`);
  return Number(billed);
}

/** The first current period counts from the start of the walk. */
async function chargedInAll(
  { rows, subscriptionId: id }: WindowFixture,
  isBands: boolean,
): Promise<number> {
  const periods = await rows(
    `SELECT index, billed_units FROM periods WHERE subscription_id = '${id}' AND index > 0`,
  );
  const charges = periods
    .map(({ billed_units }) => value(isBands, billed_units))
    .reduce((sum, one) => sum + one, 0);
  return charges - value(isBands, 10);
}

describe.each([
  ["per unit", false],
  ["with a cheaper band", true],
])("a plan %s", (_, isBands) => {
  test.for([1, 2, 3, 73, 74])("seed %i", async (seed, { pool }) => {
    const pick = pickFrom(seed + (isBands ? 100 : 0));
    const fixture = await windowFixture(pool, { isBands });
    await fixture.rows(
      `UPDATE organisations SET invoice_create_days = ${[5, 12, 20][seed % 3]}
        WHERE id = '${fixture.organisationId}'`,
    );
    const today = new Date("2026-03-01T12:00:00Z");
    for (let step = 0; step < 60; step += 1) {
      if (pick(5) === 0) {
        today.setUTCDate(today.getUTCDate() + 5 + pick(14));
        await fixture.setClock(today.toISOString());
      }
      await anyChange(fixture, pick);
      await fixture.send();
      await anyAnswer(fixture, pick);
      await fixture.send();
    }
    await answerAll(fixture);
    expect(await billedInAll(fixture)).toBe(await chargedInAll(fixture, isBands));
    await expectNothingLeft(fixture);
    await expectAllPublished(pool, [fixture.organisationId]);
  });
});

test("the walks had every answer of the ledger", () => {
  expect([...answered.keys()].sort()).toEqual(["approved", "done", "gone", "paid", "refused"]);
});

/** Retries refused amendments until they are done or closed. */
async function answerAll(fixture: WindowFixture): Promise<void> {
  await fixture.answer("done");
  const failed = await fixture.rows(`SELECT DISTINCT i.id, i.status FROM invoices i
      JOIN invoice_lines l ON l.invoice_id = i.id
    WHERE i.subscription_id = '${fixture.subscriptionId}' AND l.amending`);
  for (const { id, status } of failed) {
    expect(await fixture.retry(id)).toBe("retried");
    await fixture.answer(status === "paid" ? "paid" : "done", { status });
  }
}

/** No line waits, no price is to restore, and deferred lines are on the invoices they name. */
async function expectNothingLeft({ rows, subscriptionId: id }: WindowFixture): Promise<void> {
  const text = `SELECT i.number FROM invoices i JOIN invoice_lines l ON l.invoice_id = i.id
      WHERE i.subscription_id = '${id}' AND (l.amending OR i.amending_from IS NOT NULL)
    UNION ALL SELECT d.name FROM deferred_lines d WHERE d.subscription_id = '${id}'
      AND d.invoice_id IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM invoice_lines l WHERE l.invoice_id = d.invoice_id
        AND l.kind = 'proration'
        AND (l.period_end, l.from_units, l.to_units, l.amount)
          = (d.period_end, d.from_units, d.to_units, d.amount))`;
  expect(await rows(text)).toEqual([]);
}
