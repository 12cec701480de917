/** Lines that a real service issued, and their derivations as text that a test compares. */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../../packages/dev/src/demo/first-data.ts";
import type { Derivation, NamedSheet, ShownLine } from "../../../src/domain/explanation/shown.ts";
import type { LineKind } from "../../../src/domain/model/invoice.ts";
import type { AdminAsk } from "../../admin/services/request.ts";
import type { Ask } from "../../scenario/checked-ask.ts";
import type { ClockBuilder } from "../../scenario/clock-builder.ts";
import type { TestSystem } from "../../support/system.ts";

/** What scenes are made of. `sandbox` makes one on a day, with columns of its organisation. */
export interface SceneParts {
  readonly system: TestSystem;
  readonly builder: ClockBuilder;
  readonly admin: AdminAsk;
  readonly sandbox: (
    day: string,
    changes?: Record<string, unknown>,
  ) => Promise<CreatedOrganisation>;
  readonly use: (
    organisation: CreatedOrganisation,
    id: string,
    ...uses: readonly (readonly [quantity: string, day: string, meter?: string])[]
  ) => Promise<void>;
  readonly to: (organisation: CreatedOrganisation, day: string) => Promise<void>;
}

/** A line of a document: by the document's number, and the line's place. */
export interface IssuedLine {
  readonly organisation: CreatedOrganisation;
  readonly number: string;
  readonly line?: number;
}

/** How a line is issued, and what its explanation then says. */
export interface Scene {
  readonly issue: (parts: SceneParts) => Promise<IssuedLine>;
  readonly reads: readonly string[];
}

/** Makes something once for all scenes that need it. */
export function once<Made>(
  make: (parts: SceneParts) => Promise<Made>,
): (parts: SceneParts) => Promise<Made> {
  let made: Promise<Made> | null = null;
  return (parts) => {
    made ??= make(parts);
    return made;
  };
}

/** A line as it is explained and stored. `kind` is of an invoice. */
export interface ExplainedLine {
  readonly text: string;
  readonly object: "invoice" | "credit_note";
  readonly rule: ShownLine["rule"];
  readonly pricing: NamedSheet["type"] | undefined;
  readonly kind: LineKind | null;
  /** The facts as they are stored. */
  readonly stored: string;
  readonly reads: readonly string[];
}

/** Reads the explanation of a line as a platform does, with its row. */
export async function explainedLine(
  { pool }: TestSystem,
  ask: Ask,
  { organisation, number, line: place = 0 }: IssuedLine,
): Promise<ExplainedLine> {
  const [table, owner] = number.startsWith("CN")
    ? ["credit_note", "credit_notes"]
    : ["invoice", "invoices"];
  const { rows } = await pool.query<{ id: string; facts: string; kind: LineKind | null }>(
    `SELECT l.${table}_id AS id, l.facts, to_jsonb(l) ->> 'kind' AS kind FROM ${owner} d
      JOIN ${table}_lines l ON l.${table}_id = d.id
      WHERE d.organisation_id = $1 AND d.number = $2 ORDER BY l.position`,
    [organisation.organisationId, number],
  );
  const row = rows[place];
  if (row === undefined) throw new Error(`${number} has no line ${place}`);
  const answer = await ask("GET", `/v1/${owner}/${row.id}/explanation`, {
    key: organisation.apiKey,
  });
  expect(answer.status, answer.text).toBe(200);
  expect(answer.json.available, answer.text).toBe(true);
  const { lines, sheets, object } = answer.json;
  const line: ShownLine = lines[place];
  const used = line.facts.find(({ name }) => name === "sheet")?.value;
  const sheet = sheets.find(({ name }: NamedSheet) => name === used);
  const names = await namesIn(pool, organisation.organisationId);
  return {
    text: answer.text,
    object,
    rule: line.rule,
    pricing: sheet?.type,
    kind: row.kind,
    stored: row.facts,
    reads: textOf(line, sheet, (id) => names.get(id) ?? id),
  };
}

/** What the ids of an organisation's objects name. */
async function namesIn(
  pool: TestSystem["pool"],
  organisationId: string,
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await pool.query<{ id: string; name: string }>(
    `SELECT id, code AS name FROM plans WHERE organisation_id = $1
      UNION ALL SELECT id, code FROM charges WHERE organisation_id = $1
      UNION ALL SELECT id, code FROM meters WHERE organisation_id = $1
      UNION ALL SELECT id, 'it' FROM subscriptions WHERE organisation_id = $1
      UNION ALL SELECT id, 'to ' || to_units FROM unit_changes WHERE organisation_id = $1
      UNION ALL SELECT id, number FROM invoices WHERE organisation_id = $1
      UNION ALL SELECT l.id, concat(i.number, '.', l.position) FROM invoice_lines l
        JOIN invoices i ON i.id = l.invoice_id WHERE i.organisation_id = $1
      UNION ALL SELECT l.id, concat(c.number, '.', l.position) FROM credit_note_lines l
        JOIN credit_notes c ON c.id = l.credit_note_id WHERE c.organisation_id = $1`,
    [organisationId],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

type Naming = (id: string) => string;

function textOf(line: ShownLine, sheet: NamedSheet | undefined, named: Naming): readonly string[] {
  const { was, reissues } = line;
  return [
    line.rule,
    ...derivationText(line, sheet, named),
    ...(was ? [`until ${was.until}`, ...derivationText(was, sheet, named)] : []),
    ...(reissues ? [`reissues ${named(reissues.line)} of ${named(reissues.invoice)}`] : []),
  ];
}

function derivationText(
  { facts, steps, amount }: Derivation,
  sheet: NamedSheet | undefined,
  named: Naming,
): readonly string[] {
  return [
    ...facts.map(({ name, value, unit, source: { object, field, id, meter, ...numbers } }) => {
      const of = [id, meter].flatMap((one) => (one === undefined ? [] : [named(one)]));
      const counted = Object.entries(numbers).map(([what, number]) => `${what} ${number}`);
      const shown = unit === "price_sheet" ? sheetText(sheet, named) : `${value} ${unit}`;
      return `${name}: ${shown}, ${object}.${field} ${[...of, ...counted].join(" ")}`.trimEnd();
    }),
    ...steps.map(({ id, op, in: operands, rows, out }) => {
      const terms = rows?.map(({ quantity, price }) =>
        quantity === null ? price : `${quantity} × ${price}`,
      );
      const sum = terms === undefined ? "" : `${terms.join(" + ") || "nothing"} = `;
      return `${id} = ${[op, ...operands].join(" ")} = ${sum}${out}`;
    }),
    amount,
  ];
}

/** `volume of bands (10: 10, ∞: 8)`: the content of a sheet. */
function sheetText(sheet: NamedSheet | undefined, named: Naming): string {
  if (sheet === undefined) return "no sheet";
  const { type, plan, meter, subscription, free_units, price, tiers } = sheet;
  const prices = tiers.map(
    ({ up_to, unit_price, flat_price }) =>
      `${up_to ?? "∞"}: ${[unit_price, flat_price].filter((one) => one !== null).join(" + ")}`,
  );
  const of = [plan, meter, subscription].flatMap((id) => (id === undefined ? [] : [named(id)]));
  const free = free_units === 0 ? [] : [`${free_units} free`];
  const content = [...free, ...(tiers.length > 0 ? prices : [price])];
  return `${type} of ${of.join(" ")} (${content.join(", ")})`;
}
