/**
 * Builder for tests of ends and restorations, over the builder of units: ends, payments in the
 * ledger, and the outcome of invoices.
 */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { type Answered, type TestSystem, until } from "../support/system.ts";
import type { Ask } from "./checked-ask.ts";
import { type Json, type UnitsBuilder, unitsBuilder } from "./units-builder.ts";

/** An invoice in short, `INV-0002 renewal voided`. */
type InvoiceSummary = string;

/** Subscriptions through their life. */
export interface LifeBuilder extends UnitsBuilder {
  /** The decided answer to an end: under a new key if none is passed, without one if it is null. */
  end(
    organisation: CreatedOrganisation,
    id: string,
    body: unknown,
    idempotencyKey?: string | null,
  ): Promise<Answered>;
  /** The subscription after an end that succeeds. */
  ended(organisation: CreatedOrganisation, id: string, body: object): Promise<Json>;
  /** Restores it with an empty object, or with another body. */
  restore(
    organisation: CreatedOrganisation,
    id: string,
    idempotencyKey?: string,
    body?: unknown,
  ): Promise<Answered>;
  /** The subscription after a restoration that succeeds. */
  restored(organisation: CreatedOrganisation, id: string): Promise<Json>;
  /**
   * What stands of its invoices, oldest first: number and type, then each line's amount and text.
   * Removed ones are left out.
   */
  standing(organisation: CreatedOrganisation, id: string): Promise<readonly (readonly string[])[]>;
  /** A subscription's invoices in short, newest first. */
  summaries(organisation: CreatedOrganisation, id: string): Promise<readonly InvoiceSummary[]>;
  /** What an end did to each of its invoices, in order: `INV-0002 removed deleted`. */
  removals(organisation: CreatedOrganisation, id: string): Promise<readonly string[]>;
  /** Records a payment in the ledger; we do not hear of it. */
  pay(organisation: CreatedOrganisation, invoice: Json, amount: string): Promise<void>;
  /** The invoices of the organisation in the ledger, `INV-0002 VOIDED`, by number. */
  ledgerStatuses(organisation: CreatedOrganisation): Promise<readonly string[]>;
}

/** The builder over a system. */
export function lifeBuilder(system: TestSystem, ask: Ask): LifeBuilder {
  const builder = unitsBuilder(system, ask);
  const end: LifeBuilder["end"] = ({ apiKey }, id, body, idempotencyKey = randomUUID()) => {
    const path = `/v1/subscriptions/${id}/end`;
    if (idempotencyKey === null) return ask("POST", path, { key: apiKey, body });
    // On a busy machine the ledger may take longer than an answer. The end continues, and a repeat
    // gets its outcome.
    return until("the end is decided", async () => {
      const reported = await ask("POST", path, { key: apiKey, body, idempotencyKey });
      return (
        reported.status !== 502 && reported.json.error?.code !== "request_in_progress" && reported
      );
    });
  };
  const restore: LifeBuilder["restore"] = ({ apiKey }, id, idempotencyKey, body = {}) =>
    ask("POST", `/v1/subscriptions/${id}/restore`, {
      key: apiKey,
      body,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
  return {
    ...builder,
    end,
    restore,
    restored: async (organisation, id) => {
      const answer = await restore(organisation, id);
      expect(answer.status, answer.text).toBe(200);
      return answer.json;
    },
    standing: async (organisation, id) => {
      const invoices = await builder.invoices(organisation, id);
      const shown = invoices
        .filter(({ status }) => status !== "voided" && status !== "deleted")
        .reverse();
      return shown.map(({ number, type, lines }) => [
        `${number} ${type}`,
        ...lines.map((line: Json) => `${line.amount} ${line.description}`),
      ]);
    },
    ended: async (organisation, id, body) => {
      const answer = await end(organisation, id, body);
      expect(answer.status, answer.text).toBe(200);
      return answer.json;
    },
    summaries: async (organisation, id) => {
      const invoices = await builder.invoices(organisation, id);
      return invoices.map(({ number, type, status }) => `${number} ${type} ${status}`);
    },
    removals: async ({ organisationId }, id) => {
      const { rows } = await system.pool.query<{ reported: string }>(
        `SELECT concat_ws(' ', i.number, r.state, r.outcome) AS reported FROM terminations e
          JOIN removals r ON r.termination_id = e.id
          JOIN invoices i ON i.id = r.invoice_id WHERE e.organisation_id = $1
            AND e.subscription_id = $2 ORDER BY e.seq, r.step`,
        [organisationId, id],
      );
      return rows.map(({ reported }) => reported);
    },
    pay: async ({ tenantId }, invoice, amount) => {
      const invoices = `${system.demoUrl}/demo/tenants/${tenantId}/invoices`;
      const url = `${invoices}/${invoice.ledger.invoice_id}/payments`;
      const headers = { "content-type": "application/json" };
      const answer = await fetch(url, {
        method: "POST",
        headers,
        body: JSON.stringify({ amount }),
      });
      expect(answer.status, await answer.text()).toBe(200);
    },
    ledgerStatuses: async ({ tenantId }) =>
      (await system.ledgerInvoices(tenantId)).map(({ number, status }) => `${number} ${status}`),
  };
}
