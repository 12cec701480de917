/**
 * Documents explain their amounts, over HTTP: what is answered is verified by a program that has
 * nothing of the service, and an operator reads it in words. MONEY-9.
 */
import { describe, expect } from "vitest";
import { verify } from "../../packages/verify/src/verify.ts";
import { describeExplanation } from "../../src/domain/explanation/for-person.ts";
import { askWith } from "../admin/services/request.ts";
import { perFile } from "../support/file-fixture.ts";
import { tables } from "../support/rows.ts";
import type { TestSystem } from "../support/system.ts";
import { scenarioTest } from "./fixtures.ts";
import { addBands } from "./units-builder.ts";

const half = { prorate: true, effective_date: "2026-04-16" };

/**
 * `own` is on 16 April. Ten units and fewer cost 10 each, from eleven on all of them 8. `documents`
 * are a first invoice over ten units with a charge, and the credit note of the change to eleven.
 */
const test = scenarioTest
  .extend("own", perFile, async ({ system, builder }) => {
    const made = await builder.sandbox({ first_invoice_status: "approved" });
    await addBands(system, made);
    await builder.setClock(made, "2026-04-16");
    return made;
  })
  .extend("documents", perFile, async ({ builder, own }) => {
    const charges = [{ charge_code: "onboarding", quantity: 2 }];
    const body = { start_date: "2026-04-01", plan_code: "bands", units: 10, charges };
    const { id, customer, invoice } = await builder.subscribe(own, body);
    const { change } = await builder.changed(own, id, { units: 11, ...half });
    await builder.posted(own);
    return { subscription: id, customer, invoice, creditNote: change.credit_note };
  })
  .extend("explained", perFile, ({ ask, own }) => async (path: string) => {
    const answer = await ask("GET", `/v1/${path}/explanation`, { key: own.apiKey });
    expect(answer.status, answer.text).toBe(200);
    return answer;
  })
  .extend("admin", perFile, async ({ system }) =>
    askWith(system, await system.operator("read-only", "Rita")),
  );

describe("an explanation", () => {
  test("of an invoice verifies, with the ids and amounts of the invoice", async ({
    explained,
    documents,
  }) => {
    const { invoice } = documents;
    const { text, json } = await explained(`invoices/${invoice.id}`);
    expect(await verify(text)).toEqual({ verified: true, lines: 2 });
    expect(json).toMatchObject({ object: "invoice", id: invoice.id, number: invoice.number });
    expect(
      json.lines.map(({ line, amount }: { line: string; amount: string }) => [line, amount]),
    ).toEqual(invoice.lines.map(({ id, amount }: { id: string; amount: string }) => [id, amount]));
    expect(json.subtotal).toBe(invoice.subtotal);
    expect(json.lines.map(({ rule }: { rule: string }) => rule)).toEqual(["plan/1", "charge/1"]);
  });

  test("of a credit note verifies, and tells a person its days and prices", async ({
    ask,
    own,
    explained,
    documents,
  }) => {
    const { text, json } = await explained(`credit_notes/${documents.creditNote}`);
    expect(await verify(text)).toEqual({ verified: true, lines: 1 });
    const { json: note } = await ask("GET", `/v1/credit_notes/${documents.creditNote}`, {
      key: own.apiKey,
    });
    expect(describeExplanation(json, note.lines).slice(1, -1)).toEqual([
      "1. 6.00 NZD: Bands, 10 to 11 units from 2026-04-16",
      "   of the period 2026-04-01 to 2026-05-01, 15 of 30 days are left",
      "   10 units: 10 × 10 = 100",
      "   11 units: 11 × 8 = 88",
      "   (88 − 100) × 15 ÷ 30 = -6, rounded to -6.00: a credit of 6.00",
    ]);
  });

  test("is the same over Connect, as members and as the JSON of REST", async ({
    explained,
    documents,
    call,
    own,
  }) => {
    const { invoice } = documents;
    const { text } = await explained(`invoices/${invoice.id}`);
    const { message } = await call(
      "gRPC",
      "GetInvoiceExplanation",
      { id: invoice.id },
      {
        key: own.apiKey,
      },
    );
    expect(message).toMatchObject({
      explanation: { body: text, available: true, subtotal: invoice.subtotal },
    });
  });

  test("is not available for a document without facts, and says so", async ({
    system,
    explained,
    documents: { invoice },
  }) => {
    const asked = () => explained(`invoices/${invoice.id}`);
    const { json } = await withFacts(system, invoice.id, "NULL", asked);
    expect(json).toEqual({
      format: "explanation/1",
      object: "invoice",
      id: invoice.id,
      number: invoice.number,
      available: false,
      reason: "issued_before",
    });
  });

  test("is not available if the facts give another amount, which is counted", async ({
    system,
    explained,
    documents: { invoice },
  }) => {
    const before = await contradictions(system);
    const asked = () => explained(`invoices/${invoice.id}`);
    const wrong = `replace(facts, '"u":10', '"u":9')`;
    const { json } = await withFacts(system, invoice.id, wrong, asked);
    expect(json).toMatchObject({ available: false, reason: "does_not_follow" });
    expect(await contradictions(system)).toBe(before + 1);
  });
});

/** Does `work` while the facts of an invoice's lines are `changed`, in SQL. */
async function withFacts<T>(
  { pool }: TestSystem,
  invoiceId: string,
  changed: string,
  work: () => Promise<T>,
): Promise<T> {
  const rows = await tables(pool).invoiceLine.findMany({
    where: { invoiceId },
    select: { id: true, facts: true },
  });
  await pool.query(`UPDATE invoice_lines SET facts = ${changed} WHERE invoice_id = $1`, [
    invoiceId,
  ]);
  try {
    return await work();
  } finally {
    for (const { id, facts } of rows)
      await tables(pool).invoiceLine.updateMany({ where: { id }, data: { facts } });
  }
}

async function contradictions({ adminUrl }: TestSystem): Promise<number> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  return Number(/^billing_explanation_contradictions_total (\d+)$/m.exec(metrics)?.[1]);
}

describe("an operator", () => {
  const explain = "DocumentService/ExplainDocument";

  test("asks for an explanation by number or id, of invoices and credit notes", async ({
    admin,
    explained,
    documents,
    own,
  }) => {
    const { invoice, creditNote } = documents;
    const organisation = own.organisationId;
    const { text } = await explained(`invoices/${invoice.id}`);
    for (const document of [invoice.id, invoice.number])
      expect((await admin.done(explain, { organisation, document })).explanation.body).toBe(text);
    const { explanation } = await admin.done(explain, { organisation, document: creditNote });
    const again = { organisation, document: explanation.number };
    expect((await admin.done(explain, again)).explanation).toEqual(explanation);
  });

  test("finds no document of another organisation, by number or id", async ({
    system,
    admin,
    documents,
  }) => {
    const { organisationId: organisation } = await system.organisation();
    const { id, number } = documents.invoice;
    for (const document of [id, number, "INV-9999"])
      expect(await admin.refused(explain, { organisation, document })).toBe("invoice_not_found");
    expect(await admin.refused(explain, { organisation: id, document: number })).toBe(
      "organisation_not_found",
    );
  });
});
