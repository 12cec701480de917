/**
 * Organisations on a demo ledger whose documents are settled and whose credit is applied by rounds that the test itself
 * begins, so that it decides what happens between two of them.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import type { CallCounts } from "../../../src/dev/demo-ledger/api/limits.ts";
import { type DemoLedgerOptions, startDemoLedger } from "../../../src/dev/demo-ledger/server.ts";
import { createDemoOrganisation } from "../../../src/dev/local-stack/demo/first-data.ts";
import type { Ledger } from "../../../src/ledger/port/ledger.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import { createSettingUp } from "../../../src/store/admin/provision.ts";
import { createEncryption, type Encryption } from "../../../src/store/database/encryption.ts";
import type { LedgerConnection } from "../../../src/store/ledger-connection/connections.ts";
import { createReferenceDataReading } from "../../../src/store/ledger-connection/reference-data.ts";
import { createAllocating } from "../../../src/store/ledger-jobs/allocation-scope.ts";
import { createPosting } from "../../../src/store/ledger-jobs/post-documents.ts";
import { createCreditAllocation } from "../../../src/worker/activities/posting/allocate-credit.ts";
import { createPostingActivities } from "../../../src/worker/activities/posting/posting.ts";
import {
  type ReferenceDataDependencies,
  readDueReferenceData,
} from "../../../src/worker/activities/posting/read-reference-data.ts";
import type { CreditAllocationInput, WorkBatch } from "../../../workflows/contract.ts";
import { freshDatabase } from "../../support/database.ts";
import { testPool } from "../../support/pool.ts";
import { until } from "../../support/system.ts";
import {
  addSubscription,
  type CreditOrganisation,
  raiseCredit,
  raiseInvoice,
} from "./issue-credit.ts";

/** An organisation with one subscription. */
export interface CreditParty extends CreditOrganisation, CreditAllocationInput {}

/** The world. */
export interface CreditWorld {
  readonly pool: pg.Pool;
  readonly demoUrl: string;
  readonly openLedger: (organisationId: string, connection: LedgerConnection) => Ledger;
  readonly sealing: Encryption;
  /** The subscriptions whose workflows were to be started. */
  readonly started: readonly CreditAllocationInput[];
  /** A new organisation whose invoices are made approved, with a subscription. */
  party(): Promise<CreditParty>;
  /**
   * Raises documents one after the other, each settled before the next: `-12` is a credit of 12 before tax, `10` an
   * invoice.
   */
  raise(party: CreditParty, ...amounts: readonly string[]): Promise<void>;
  /** Settles the organisation's documents until none waits. */
  settle(party: CreditParty): Promise<void>;
  /** One round of the organisation's ledger workflow. */
  postBatch(party: CreditParty): Promise<unknown>;
  /** One round of the subscription's credit workflow. */
  round(party: CreditParty): Promise<WorkBatch>;
  /** Rounds until one is settled, waiting as long as each says; the last one, refused where one of them was, as its workflow ends. */
  allocate(party: CreditParty): Promise<WorkBatch>;
  /** Reads what the ledgers offer, as far as that is due; how many lists were taken. */
  readReferenceData(): Promise<number>;
  /** The organisations of which that went wrong for reasons of ours. */
  readonly unreadable: readonly string[];
  /** How many requests the organisation's ledger has taken. */
  calls(party: CreditParty): Promise<number>;
  fault(party: CreditParty, fault: object): Promise<void>;
  /** How many ordered faults have not happened yet. */
  faultsLeft(): Promise<number>;
  /** Records a payment on the invoice with this number, as a bookkeeper does. */
  pay(party: CreditParty, number: string, amount: string): Promise<void>;
  stop(): Promise<void>;
}

/** How long a call that writes may take: its answer is lost in some tests, and then waited for. It is looked up and sent again. */
const callDeadlineMs = 1_500;

/** How long a list may take: none is lost, and one that came too late would not be asked for again within the test. */
const listDeadlineMs = 20_000;

/** Starts it. `demoOptions` go to the demo ledger; documents lead back to `publicUrl`. */
export async function startCreditWorld(
  demoOptions: Partial<DemoLedgerOptions> = {},
  publicUrl: string | null = null,
): Promise<CreditWorld> {
  const database = await freshDatabase();
  const demo = await startDemoLedger({
    databaseUrl: database.url,
    port: 0,
    faults: true,
    ...demoOptions,
  });
  const pool = testPool(database.url, 8);
  const sealing = createEncryption(randomBytes(32));
  const settingUp = createSettingUp(pool, sealing);
  const ledgers = new Map<string, Ledger>();
  const started: CreditAllocationInput[] = [];
  const parts: Omit<Parameters<typeof createPostingActivities>[0], "openScope"> = {
    openLedger: (organisationId, connection) => {
      const ledger = ledgers.get(organisationId) ?? createXeroLedger(connection);
      ledgers.set(organisationId, ledger);
      return ledger;
    },
    callDeadlineMs,
    publicUrl,
    startAllocation: async (input) => started.push(input),
  };
  const unreadable: string[] = [];
  const offers: ReferenceDataDependencies = {
    store: createReferenceDataReading(pool, sealing),
    openLedger: parts.openLedger,
    callDeadlineMs: listDeadlineMs,
    onError: (organisationId) => void unreadable.push(organisationId),
  };
  const { postBatch } = createPostingActivities({
    ...parts,
    openScope: createPosting(pool, sealing),
  });
  const { allocateBatch } = createCreditAllocation({
    ...parts,
    openScope: createAllocating(pool, sealing),
  });
  const admin = async (path: string, body?: object): Promise<unknown> => {
    const headers = { "content-type": "application/json" };
    const sent = body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await fetch(`${demo.url}/demo/${path}`, sent);
    if (!answer.ok) throw new Error(`demo ledger: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const round = ({ organisationId, subscriptionId }: CreditParty) =>
    allocateBatch({ organisationId, subscriptionId });
  const settle = ({ organisationId }: CreditParty) =>
    until("every document is settled", async () => {
      const { nextInMs } = await postBatch({ organisationId });
      if (nextInMs !== null) await wait(nextInMs);
      return nextInMs === null;
    });
  return {
    pool,
    demoUrl: demo.url,
    openLedger: parts.openLedger,
    sealing,
    started,
    party: async () => {
      const own = {
        name: "Northwind",
        livemode: true,
        timezone: "Pacific/Auckland",
        currency: "NZD",
      };
      const { organisationId, tenantId } = await createDemoOrganisation(settingUp, demo.url, own);
      await pool.query("UPDATE organisations SET first_invoice_status = 'approved' WHERE id = $1", [
        organisationId,
      ]);
      return {
        organisationId,
        tenantId,
        subscriptionId: await addSubscription(pool, organisationId),
      };
    },
    raise: async (party, ...amounts) => {
      for (const amount of amounts) {
        const one = amount.startsWith("-") ? raiseCredit : raiseInvoice;
        await one(pool, party.organisationId, party.subscriptionId, amount.replace("-", ""));
        await settle(party);
      }
    },
    settle: async (party) => void (await settle(party)),
    postBatch,
    round,
    allocate: (party) => {
      let isRefused = false;
      return until("the credit is applied", async () => {
        const done = await round(party);
        isRefused ||= done.outcome === "refused";
        if (done.nextInMs !== null) await wait(done.nextInMs);
        return (
          done.state === "done" && { ...done, outcome: isRefused ? "refused" : done.outcome }
        );
      });
    },
    readReferenceData: () => readDueReferenceData(offers, 20),
    unreadable,
    calls: async ({ tenantId }) => ((await admin(`tenants/${tenantId}/calls`)) as CallCounts).taken,
    fault: async ({ tenantId }, fault) => void (await admin("faults", { ...fault, tenantId })),
    faultsLeft: async () => ((await admin("faults")) as { readonly left: number }).left,
    pay: async ({ tenantId }, number, amount) => {
      const { rows } = await pool.query<{ invoice_id: string }>(
        "SELECT invoice_id FROM demo_ledger.invoices WHERE tenant_id = $1 AND number = $2",
        [tenantId, number],
      );
      await admin(`tenants/${tenantId}/invoices/${rows[0]?.invoice_id}/payments`, { amount });
    },
    stop: async () => {
      await Promise.all([...ledgers.values()].map((ledger) => ledger.close()));
      await settingUp.close();
      await pool.end();
      await demo.stop();
      await database.drop();
    },
  };
}
