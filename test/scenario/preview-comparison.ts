/**
 * Compares a preview with what then happens: the same refusal, or the same subscription, documents
 * and deferred amounts, except ids, numbers and what only the ledger knows. PREVIEW-1, PREVIEW-3.
 */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { verify } from "../../packages/verify/src/verify.ts";
import type { Answered, RequestOptions, TestSystem } from "../support/system.ts";
import type { Ask } from "./checked-ask.ts";
import type { LifeBuilder } from "./life-builder.ts";
import type { Json } from "./units-builder.ts";

/** What a comparison asks and reads by. */
export interface Compared {
  readonly system: TestSystem;
  readonly ask: Ask;
  readonly builder: LifeBuilder;
  readonly own: CreatedOrganisation;
}

/** The outcome of a preview, to be held against the answer of the operation. */
export interface Previewed {
  readonly answer: Answered;
  /** Compares with the operation's answer. The ledger must have decided on its documents. */
  readonly expectSame: (answer: Answered) => Promise<void>;
}

/** An operation that has a preview. */
type Operation = "units" | "end" | "restore";

/**
 * Performs an operation. The ledger may take longer over an end than an answer waits: the end is
 * asked for again until it is decided.
 */
export function perform(
  { ask, builder, own }: Compared,
  id: string,
  operation: Operation,
  body: object,
): Promise<Answered> {
  if (operation === "end") return builder.end(own, id, body);
  const path = `/v1/subscriptions/${id}/${operation}`;
  return ask("POST", path, { key: own.apiKey, body, idempotencyKey: randomUUID() });
}

/** Previews an operation on a subscription. */
export async function preview(
  compared: Compared,
  id: string,
  operation: Operation,
  body: object,
): Promise<Previewed> {
  const { ask, own } = compared;
  const before = await documents(compared, id);
  const path = `/v1/subscriptions/${id}/${operation}/preview`;
  const answer = await ask("POST", path, { key: own.apiKey, body });
  return {
    answer,
    expectSame: async (answered) => {
      if (answered.status !== 200) {
        expect(refusal(answer)).toEqual(refusal(answered));
        return;
      }
      expect(answer.status, answer.text).toBe(200);
      const after = await documents(compared, id);
      const { shown, explained } = await happened(compared, id, before, after);
      expect(inShort(answer.json)).toEqual(shown);
      expect(await explanationsIn(answer.json)).toEqual(explained);
    },
  };
}

/** Asserts that the preview of a request that was refused is refused alike. */
export async function expectRefusedAlike(
  ask: Ask,
  path: string,
  options: RequestOptions,
  real: Answered,
): Promise<void> {
  const shown = await ask("POST", `${path}/preview`, options);
  expect({ path, ...refusal(shown) }).toEqual({ path, ...refusal(real) });
}

interface Documents {
  readonly invoices: readonly Json[];
  readonly notes: readonly Json[];
}

/** All documents of a subscription, oldest first. */
async function documents({ builder, own }: Compared, id: string): Promise<Documents> {
  const [invoices, notes] = [await builder.invoices(own, id), await builder.creditNotes(own, id)];
  return { invoices: invoices.toReversed(), notes: notes.toReversed() };
}

/** `explained`: how the amounts of what was issued, amended and credited came about, in order. */
interface Happened {
  readonly shown: object;
  readonly explained: readonly object[];
}

/** What happened to a subscription. What it shows is in the form of `inShort`. */
async function happened(
  compared: Compared,
  id: string,
  before: Documents,
  after: Documents,
): Promise<Happened> {
  const { system, builder, own } = compared;
  const known = new Map(before.invoices.map((invoice) => [invoice.id, invoice]));
  const notes = new Set(before.notes.map((note) => note.id));
  const isRemoved = ({ status }: Json) => status === "deleted" || status === "voided";
  const linesOf = (invoice: Json) => JSON.stringify(invoiceInShort(invoice).lines);
  const isAmended = (invoice: Json) =>
    known.has(invoice.id) && linesOf(invoice) !== linesOf(known.get(invoice.id));
  const { rows } = await system.pool.query<{ line: string }>(
    `SELECT amount || ' ' || description AS line FROM deferred_lines
      WHERE organisation_id = $1 AND subscription_id = $2 AND invoice_id IS NULL ORDER BY seq`,
    [own.organisationId, id],
  );
  const issued = after.invoices.filter((one) => !known.has(one.id));
  const amended = after.invoices.filter(isAmended);
  const credited = after.notes.filter((one) => !notes.has(one.id));
  const explained = [
    ...[...issued, ...amended].map((one) => explanationOf(compared, `invoices/${one.id}`)),
    ...credited.map((one) => explanationOf(compared, `credit_notes/${one.id}`)),
  ];
  const shown = {
    subscription: await builder.subscription(own, id),
    issued: issued.map(invoiceInShort),
    amended: amended.map((one) => ({ number: one.number, ...invoiceInShort(one) })),
    removed: after.invoices
      .filter((one) => isRemoved(one) && known.has(one.id) && !isRemoved(known.get(one.id)))
      .map(({ number }) => number),
    credited: credited.map(creditNoteInShort),
    deferred: rows.map(({ line }) => line),
  };
  return { shown, explained: await Promise.all(explained) };
}

async function explanationOf({ ask, own }: Compared, path: string): Promise<object> {
  const { json } = await ask("GET", `/v1/${path}/explanation`, { key: own.apiKey });
  return explanationInShort(json);
}

/** The explanations in a preview, in the order of `Happened`. Each verifies. */
async function explanationsIn(json: Json): Promise<readonly object[]> {
  const amended = json.amended_invoices.toSorted(byNumber);
  const documents: Json[] = [...json.issued_invoices, ...amended, ...json.credit_notes];
  for (const { explanation, lines, subtotal } of documents) {
    expect(await verify(JSON.stringify(explanation))).toEqual({
      verified: true,
      lines: lines.length,
    });
    expect([explanation.id, explanation.number]).toEqual([null, null]);
    expect([explanation.subtotal, explanation.lines.map(amountOf)]).toEqual([
      subtotal,
      lines.map(amountOf),
    ]);
  }
  return documents.map(({ explanation }) => explanationInShort(explanation));
}

const amountOf = ({ amount }: Json) => amount;

/** An explanation without what differs once it is issued: ids, number, instant and tax. */
export function explanationInShort(explanation: Json): object {
  const { id: _, number: __, ledger: ___, sheets, lines, ...rest } = explanation;
  const derived = ({ facts, steps, result, amount }: Json) => ({
    facts: facts.map(({ name, value, unit }: Json) => ({ name, unit, value })),
    ...{ steps, result, amount },
  });
  return {
    ...rest,
    sheets: sheets.map(({ plan, meter, type, tiers }: Json) => ({ plan, meter, type, tiers })),
    lines: lines.map(({ rule, was, reissues, ...line }: Json) => ({
      ...{ rule, reissues, was: was && derived(was) },
      ...derived(line),
    })),
  };
}

/** A preview without what no operation shows. */
function inShort(json: Json): object {
  return {
    subscription: json.subscription,
    issued: json.issued_invoices.map(invoiceInShort),
    amended: json.amended_invoices
      .map((one: Json) => ({ number: one.number, ...invoiceInShort(one) }))
      .sort(byNumber),
    removed: json.removed_invoices
      .flatMap(({ number }: Json) => (number === null ? [] : [number]))
      .sort(),
    credited: json.credit_notes.map(creditNoteInShort),
    deferred: json.deferred_lines.map(
      ({ amount, description }: Json) => `${amount} ${description}`,
    ),
  };
}

function byNumber(left: Json, right: Json): number {
  return left.number < right.number ? -1 : 1;
}

/** The members that an invoice and its preview have in common, without ids. */
export function invoiceInShort(invoice: Json): Json {
  const { reference, type, currency, issue_date, due_date, period, subtotal, lines } = invoice;
  const shown = lines.map(({ id: _, ...line }: Json) => ({
    ...line,
    description: unnumbered(line.description),
  }));
  return { reference, type, currency, issue_date, due_date, period, subtotal, lines: shown };
}

function creditNoteInShort(note: Json): Json {
  const { reference, currency, credit_note_date, subtotal, lines } = note;
  const shown = lines.map(({ name, description, amount, effective_date }: Json) => ({
    name,
    description: unnumbered(description),
    amount,
    effective_date,
  }));
  return { reference, currency, credit_note_date, subtotal, lines: shown };
}

/** A document that a preview would issue has no number. */
function unnumbered(text: string): string {
  return text.replaceAll(/INV-\d+|CN-\d+|\(new\)/g, "document");
}

function refusal({ status, json, text }: Answered): object {
  expect(json?.error, text).toBeTypeOf("object");
  const { type, code, message, param } = json.error;
  return { status, type, code, message: unnumbered(message), param };
}
