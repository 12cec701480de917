/**
 * Creates subscriptions over REST, for many organisations in turn. Each answer arrives once the
 * invoice is in the demo ledger. Measures creations a second at 1, 8 and 32 concurrent calls, and
 * the duration of a single one. The floor sends the statements of a creation up to the ledger's
 * part by the store itself, without HTTP, Temporal and ledger.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Agent } from "undici";
import { createDemoOrganisation } from "../packages/dev/src/demo/first-data.ts";
import { createSettingUp } from "../packages/dev/src/demo/provision.ts";
import { decideCreation } from "../src/domain/subscriptions/create.ts";
import { createAccess } from "../src/store/access/api-keys.ts";
import { createIdempotencyStore } from "../src/store/access/idempotency.ts";
import { newId } from "../src/store/database/ids.ts";
import { migrate, withDatabase } from "../src/store/database/migrations/migrate.ts";
import { createPool, type Pool } from "../src/store/database/pool.ts";
import { createStore } from "../src/store/tenant.ts";
import { hashApiKey } from "../src/transport/rpc/gate/api-key.ts";
import { cpuSecondsUsed } from "./support/cpu.ts";
import { median, printFigure } from "./support/figure.ts";
import { addPlatforms, type Platform } from "./support/platforms.ts";
import { requirePostedOnce } from "./support/posted-once.ts";
import { isShort } from "./support/short.ts";
import { type MeasuredSystem, startMeasuredSystem } from "./support/system.ts";

/** Concurrency, and the duration of a repetition. */
const loads = [
  { atOnce: 1, durationMs: 3_000 },
  { atOnce: 8, durationMs: 3_000 },
  { atOnce: 32, durationMs: 4_000 },
] as const;

/** Service and floor alternate, so that other work on the machine affects both. */
const repetitions = 3;
const floorMs = 1_500;

/** Long enough that the compiling in the first load does not count. */
const warmUp = { atOnce: 8, durationMs: 5_000 };

/** The service's default of DATABASE_POOL_SIZE. */
const poolSize = 10;

const creation = {
  customerCode: "ACME",
  planCode: "team",
  units: 10,
  chargeCode: "onboarding",
} as const;

const body = JSON.stringify({
  customer_code: creation.customerCode,
  plan_code: creation.planCode,
  units: creation.units,
  charges: [{ charge_code: creation.chargeCode }],
});

/** Performs one creation. Resolves once it is done. */
type Create = () => Promise<void>;

/** The result of one load: milliseconds of each creation, in rising order. */
interface LoadResult {
  readonly perSecond: number;
  /**
   * By the processor time of every process involved, also the client. Other work on the machine
   * does not change it.
   */
  readonly perCpuSecond: number;
  readonly tookMs: readonly number[];
}

async function measure(
  create: Create,
  { atOnce, durationMs }: { atOnce: number; durationMs: number },
): Promise<LoadResult> {
  const cpuBefore = cpuSecondsUsed(null);
  const began = performance.now();
  const tookMs: number[] = [];
  const one = async () => {
    for (let startedMs = began; startedMs - began < durationMs; startedMs = performance.now()) {
      await create();
      tookMs.push(performance.now() - startedMs);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  const seconds = (performance.now() - began) / 1_000;
  const perCpuSecond = tookMs.length / (cpuSecondsUsed(null) - cpuBefore);
  return { perSecond: tookMs.length / seconds, perCpuSecond, tookMs: tookMs.sort((a, b) => a - b) };
}

/**
 * Creates over REST. Every answer must say that the document is in the ledger. The ids are kept for
 * the check at the end.
 */
function createOverRest(
  baseUrl: string,
  platforms: readonly Platform[],
  acknowledged: ReadonlyMap<string, Map<string, string>>,
): Create {
  const dispatcher = new Agent({ connections: 64, pipelining: 1 });
  let sent = 0;
  return async () => {
    const { organisationId, key } = nextKey(platforms, sent++);
    const { statusCode, body: answer } = await dispatcher.request({
      origin: baseUrl,
      path: "/v1/subscriptions",
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "idempotency-key": randomUUID(),
      },
      body,
    });
    const text = await answer.text();
    assert.equal(statusCode, 201, text);
    const { id, invoice } = JSON.parse(text);
    assert.equal(invoice.ledger.sync_status, "synced", text);
    acknowledged.get(organisationId)?.set(id, invoice.id);
  };
}

/** Takes the organisations in turn, and the keys of each in turn. */
function nextKey(platforms: readonly Platform[], sent: number) {
  const platform = platforms[sent % platforms.length];
  assert(platform);
  const { organisationId, keys } = platform;
  const key = keys[Math.floor(sent / platforms.length) % keys.length] ?? "";
  return { organisationId, key };
}

/**
 * Sends the statements of a creation by the API's own store: admission, key, facts, write, reads,
 * key.
 */
function createInDatabase(
  pool: Pool,
  platforms: readonly Platform[],
): { readonly create: Create; readonly stop: () => Promise<void> } {
  const access = createAccess(pool);
  const fail = (error: unknown) => assert.fail(error as Error);
  const idempotency = createIdempotencyStore(pool, { onTrouble: fail });
  const store = createStore(pool);
  const fingerprint = Buffer.alloc(32);
  const charges = [{ chargeCode: creation.chargeCode, quantity: 1, price: null }];
  const nothing = {
    discountPercent: null,
    startDate: null,
    timezone: null,
    billingDay: null,
    price: null,
  } as const;
  const rest = {
    ...nothing,
    minimumUnits: null,
    endAfterCycles: null,
    label: "",
    invoiceReference: "",
  } as const;
  const query = { ...creation, chargeCodes: [creation.chargeCode] };
  let sent = 0;
  const create = async () => {
    const { organisationId, key: apiKey } = nextKey(platforms, sent++);
    const admission = await access.admit(hashApiKey(apiKey));
    assert(admission.kind === "admitted");
    const { apiKeyId, now } = admission.key;
    const tenant = store.tenant(organisationId, now);
    const key = {
      apiKeyId,
      organisationId,
      key: randomUUID(),
      operation: "floor",
      path: "/v1/subscriptions",
      fingerprint,
    };
    const begun = await idempotency.begin(key);
    assert(begun.kind === "begun");
    const subscriptionId = newId();
    const first = { invoiceId: newId(), jobId: newId() };
    const { facts, catalogueVersion } = await tenant.subscriptions.loadCreation({
      ...query,
      subscriptionId,
    });
    const decision = decideCreation({ ...facts, now }, { ...creation, ...rest, charges });
    const write = {
      subscriptionId,
      requestHash: fingerprint,
      setupMode: false,
      catalogueVersion,
      decision,
      first,
      awaitedUntil: now,
    };
    assert.equal(await tenant.subscriptions.saveCreation(write), "saved");
    await Promise.all([
      tenant.subscriptions.get(subscriptionId),
      tenant.invoices.get(first.invoiceId),
    ]);
    await idempotency.complete(begun.claim, fingerprint);
  };
  return { create, stop: idempotency.stop };
}

/** The value at a share of the sorted values. */
function at(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

/** What one kind of load came to, in each repetition. */
interface Results {
  readonly ours: LoadResult[];
  readonly floor: LoadResult[];
}

function print(atOnce: number, { ours, floor }: Results): void {
  const middle = (of: readonly LoadResult[], by: "perSecond" | "perCpuSecond") =>
    median(of.map((result) => result[by]));
  const name = `create_${atOnce}_at_once`;
  const perSecond = [middle(ours, "perSecond"), middle(floor, "perSecond")] as const;
  printFigure(name, perSecond[0], "creations/s", perSecond[1]);
  const perCpuSecond = [middle(ours, "perCpuSecond"), middle(floor, "perCpuSecond")] as const;
  printFigure(`${name}_cpu`, perCpuSecond[0], "creations/cpu-s", perCpuSecond[1]);
  const sorted = ours.flatMap(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  const bare = floor.flatMap(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  printFigure(`${name}_p50`, at(sorted, 0.5), "ms", at(bare, 0.5));
  printFigure(`${name}_p95`, at(sorted, 0.95), "ms", at(bare, 0.95));
}

/**
 * The floor works in a second database of the same server, where no worker posts what it leaves.
 * So floor and service can alternate.
 */
async function startFloor({ databaseUrl, encryption, demoLedgerUrl }: MeasuredSystem) {
  const url = withDatabase(databaseUrl, "floor");
  await migrate(url);
  const pool = createPool({ databaseUrl: url, size: poolSize, name: "bench" }, () => undefined);
  const settingUp = createSettingUp(pool, encryption);
  const zone = { livemode: true, timezone: "Pacific/Auckland", currency: "NZD" };
  const organisation = (name: string) =>
    createDemoOrganisation(settingUp, demoLedgerUrl, { ...zone, name });
  const platforms = await addPlatforms({ pool, organisation }, "Floor");
  const { create, stop } = createInDatabase(pool, platforms);
  await measure(create, { atOnce: 8, durationMs: 1_000 });
  await pool.query("VACUUM ANALYZE");
  return {
    create,
    stop: async () => {
      stop();
      await pool.end();
    },
  };
}

/**
 * Prints the figures. Rejects unless every acknowledged creation is one subscription, one invoice
 * and one document.
 */
export async function run(): Promise<void> {
  const system = await startMeasuredSystem();
  try {
    const floor = await startFloor(system);
    const measured = await addPlatforms(system, "Measured");
    const acknowledged = new Map(
      measured.map(({ organisationId }) => [organisationId, new Map<string, string>()]),
    );
    const create = createOverRest(system.baseUrl, measured, acknowledged);
    await measure(create, warmUp);
    // Autovacuum does this within the first minute. Without it, statements planned over empty
    // tables read an organisation's whole history.
    await system.pool.query("VACUUM ANALYZE");
    for (const load of isShort ? [loads[0], loads[2]] : loads) {
      const results: Results = { ours: [], floor: [] };
      for (let repetition = 0; repetition < repetitions; repetition++) {
        results.floor.push(await measure(floor.create, { ...load, durationMs: floorMs }));
        results.ours.push(await measure(create, load));
      }
      print(load.atOnce, results);
    }
    let posted = 0;
    for (const platform of measured) {
      const created = acknowledged.get(platform.organisationId) ?? new Map();
      await requirePostedOnce(system.pool, platform, created);
      posted += created.size;
    }
    await floor.stop();
    printFigure("create_acknowledged_and_posted_once", posted, "creations");
  } finally {
    await system.stop();
  }
}
