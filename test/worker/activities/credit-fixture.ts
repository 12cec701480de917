/**
 * A fixture of organisations on the demo ledger. The test starts each batch of posting and
 * allocation, so it decides what happens between two of them.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import { test } from "vitest";
import type { CallCounts } from "../../../packages/demo-ledger/src/api/limits.ts";
import {
  type DemoLedgerOptions,
  startDemoLedger,
} from "../../../packages/demo-ledger/src/server.ts";
import { createDemoOrganisation } from "../../../packages/dev/src/demo/first-data.ts";
import { createSettingUp } from "../../../packages/dev/src/demo/provision.ts";
import type { Ledger } from "../../../src/ledger/port/ledger.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import { createEncryption, type Encryption } from "../../../src/store/database/encryption.ts";
import type { LedgerConnection } from "../../../src/store/ledger-connection/connections.ts";
import { createReferenceDataReading } from "../../../src/store/ledger-connection/reference-data.ts";
import { createAllocations } from "../../../src/store/ledger-jobs/allocations.ts";
import { createPostingStore } from "../../../src/store/ledger-jobs/posting-store.ts";
import { createCreditAllocation } from "../../../src/worker/activities/posting/allocate-credit.ts";
import { createPostingActivities } from "../../../src/worker/activities/posting/posting.ts";
import {
  type ReferenceDataDependencies,
  readDueReferenceData,
} from "../../../src/worker/activities/posting/read-reference-data.ts";
import type { CreditAllocationInput, WorkBatch } from "../../../workflows/contract.ts";
import { freshDatabase } from "../../support/database.ts";
import { perFile, started } from "../../support/file-fixture.ts";
import { testPool } from "../../support/pool.ts";
import { setOrganisation } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import {
  addSubscription,
  type CreditOrganisation,
  issueCredit,
  issueInvoice,
} from "./issue-credit.ts";

/** An organisation with one subscription. */
export interface CreditParty extends CreditOrganisation, CreditAllocationInput {}

/** The fixture. */
export interface CreditFixture {
  readonly pool: pg.Pool;
  readonly demoUrl: string;
  readonly openLedger: (organisationId: string, connection: LedgerConnection) => Ledger;
  readonly encryption: Encryption;
  /** The subscriptions whose workflows were to be started. */
  readonly started: readonly CreditAllocationInput[];
  /** Adds an organisation whose invoices are created approved, with a subscription. */
  party(): Promise<CreditParty>;
  /**
   * Issues documents, each posted before the next: `-12` is a credit of 12 before tax, `10` an
   * invoice.
   */
  issue(party: CreditParty, ...amounts: readonly string[]): Promise<void>;
  /** Posts the organisation's documents until none waits. */
  postAll(party: CreditParty): Promise<void>;
  /** Runs one batch of the organisation's posting workflow. */
  postBatch(party: CreditParty): Promise<unknown>;
  /** Runs one batch of the subscription's credit workflow. */
  allocateOnce(party: CreditParty): Promise<WorkBatch>;
  /** Runs batches until none is left. Returns the last one, refused if one of them was. */
  allocate(party: CreditParty): Promise<WorkBatch>;
  /** Reads due reference data. Returns how many lists were claimed. */
  readReferenceData(): Promise<number>;
  /** The organisations whose read failed here and not in the ledger. */
  readonly unreadable: readonly string[];
  /** How many requests the organisation's ledger received. */
  calls(party: CreditParty): Promise<number>;
  fault(party: CreditParty, fault: object): Promise<void>;
  /** How many ordered faults have not happened yet. */
  faultsLeft(): Promise<number>;
  /** Records a payment on the invoice with this number, as a bookkeeper does. */
  pay(party: CreditParty, number: string, amount: string): Promise<void>;
  stop(): Promise<void>;
}

/** The deadline of a call that writes. Some tests lose its answer and wait for it. */
const callDeadlineMs = 1_500;

/** The deadline of a list. No answer of a list is lost, and a late one is not requested again. */
const listDeadlineMs = 20_000;

/** Starts it. `demoOptions` go to the demo ledger. Documents link to `publicUrl`. */
export async function startCreditFixture(
  demoOptions: Partial<DemoLedgerOptions> = {},
  publicUrl: string | null = null,
): Promise<CreditFixture> {
  const database = await freshDatabase();
  const demo = await startDemoLedger({
    databaseUrl: database.url,
    port: 0,
    faults: true,
    ...demoOptions,
  });
  const pool = testPool(database.url, 8);
  const encryption = createEncryption(randomBytes(32));
  const settingUp = createSettingUp(pool, encryption);
  const ledgers = new Map<string, Ledger>();
  const started: CreditAllocationInput[] = [];
  const parts: Omit<Parameters<typeof createPostingActivities>[0], "openStore"> = {
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
  const referenceData: ReferenceDataDependencies = {
    store: createReferenceDataReading(pool, encryption),
    openLedger: parts.openLedger,
    callDeadlineMs: listDeadlineMs,
    onError: (organisationId) => void unreadable.push(organisationId),
  };
  const { postBatch } = createPostingActivities({
    ...parts,
    openStore: createPostingStore(pool, encryption),
  });
  const { allocateBatch } = createCreditAllocation({
    ...parts,
    openStore: createAllocations(pool, encryption),
  });
  const admin = async (path: string, body?: object): Promise<unknown> => {
    const headers = { "content-type": "application/json" };
    const sent = body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await fetch(`${demo.url}/demo/${path}`, sent);
    if (!answer.ok) throw new Error(`demo ledger: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const allocateOnce = ({ organisationId, subscriptionId }: CreditParty) =>
    allocateBatch({ organisationId, subscriptionId });
  const postAll = ({ organisationId }: CreditParty) =>
    until("every document is posted", async () => {
      const { nextInMs } = await postBatch({ organisationId });
      if (nextInMs !== null) await wait(nextInMs);
      return nextInMs === null;
    });
  return {
    pool,
    demoUrl: demo.url,
    openLedger: parts.openLedger,
    encryption,
    started,
    party: async () => {
      const own = {
        name: "Northwind",
        livemode: true,
        timezone: "Pacific/Auckland",
        currency: "NZD",
      };
      const { organisationId, tenantId } = await createDemoOrganisation(settingUp, demo.url, own);
      await setOrganisation(pool, organisationId, { firstInvoiceStatus: "approved" });
      return {
        organisationId,
        tenantId,
        subscriptionId: await addSubscription(pool, organisationId),
      };
    },
    issue: async (party, ...amounts) => {
      for (const amount of amounts) {
        const one = amount.startsWith("-") ? issueCredit : issueInvoice;
        await one(pool, party.organisationId, party.subscriptionId, amount.replace("-", ""));
        await postAll(party);
      }
    },
    postAll: async (party) => void (await postAll(party)),
    postBatch,
    allocateOnce,
    allocate: (party) => {
      let isRefused = false;
      return until("the credit is applied", async () => {
        const done = await allocateOnce(party);
        isRefused ||= done.outcome === "refused";
        if (done.nextInMs !== null) await wait(done.nextInMs);
        return done.state === "done" && { ...done, outcome: isRefused ? "refused" : done.outcome };
      });
    },
    readReferenceData: () => readDueReferenceData(referenceData, 20),
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
      await pool.end();
      await demo.stop();
      await database.drop();
    },
  };
}

/** Tests of posting and allocation, on one demo ledger. */
export const creditTest = test.extend(
  "fixture",
  perFile,
  started(
    () => startCreditFixture(),
    (fixture) => fixture.stop(),
  ),
);
