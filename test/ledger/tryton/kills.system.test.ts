/**
 * A worker killed while it posts to Tryton: between two steps, and while Tryton has a request whose
 * answer nobody reads. Each invoice is there once, and the books are equal (LEDGER-23).
 */
import { expect } from "vitest";
import type { TrytonAccess } from "../../../packages/dev/src/tryton/server.ts";
import { postingCrashPoints } from "../../support/crash-points.ts";
import { perFile } from "../../support/file-fixture.ts";
import { countJobs, openJobs, tables } from "../../support/rows.ts";
import { type TestSystem, until } from "../../support/system.ts";
import { expectEqualBooks, readTryton } from "./both-books.ts";
import { startLosingProxy } from "./losing-proxy.ts";
import { connectToTryton, createCustomers, trytonTest } from "./service-fixture.ts";
import { whyNoTryton } from "./tryton-fixture.ts";

const test = trytonTest
  // What a killed worker had taken is free after a few of these.
  .extend("settings", perFile, { env: { LEDGER_CALL_SECONDS: "8" } })
  .extend("proxy", perFile, async ({ access }, { onCleanup }) => {
    const proxy = await startLosingProxy(access.baseUrl);
    onCleanup(() => proxy.close());
    return proxy;
  });

const requests = [/^POST \/account\.invoice$/, /^POST \/account\.invoice\/\d+\/post$/];

test.skipIf(whyNoTryton !== null)(
  "a worker killed at each step of posting leaves every invoice in Tryton once",
  async ({ system, admin, access, own, key, proxy }) => {
    await connectToTryton(admin, own, access, proxy.url);
    await createCustomers(system, key, 1);
    const begun: Promise<unknown>[] = [];
    const subscribe = async (name: string) => {
      await system.worker.stop();
      const body = { customer_code: "C0", plan_code: "team", units: 3 };
      const request = { key, idempotencyKey: name, body };
      begun.push(system.ask("POST", "/v1/subscriptions", request));
      const waiting = { organisationId: own.organisation, state: "ready" };
      await until("it waits", async () => (await countJobs(system.pool, waiting)) > 0);
    };
    for (const point of postingCrashPoints) {
      await subscribe(point);
      // It may die before it reports that it is ready, so its start is not awaited.
      void system.worker.start({ BILLING_CRASH_AT: point }).catch(() => undefined);
      await system.worker.exited();
    }
    for (const [index, pattern] of requests.entries()) {
      await subscribe(`request-${index}`);
      const killed = new Promise<void>((resolve) => {
        proxy.order(pattern, "after", () => system.worker.kill().then(resolve));
      });
      // The request may come before this process reads that the worker is ready.
      void system.worker.start({}, true).catch(() => undefined);
      await killed;
    }
    await system.worker.start();
    await until("all is posted", async () => (await openJobs(system.pool, own.organisation)) === 0);
    await Promise.all(begun);
    const ours = await numbers(system, own.organisation);
    expect(ours).toHaveLength(postingCrashPoints.length + requests.length);
    expect(await inTryton(access)).toEqual(ours.map((number) => `${number} posted`));
    const open = await expectEqualBooks(system, access, own.organisation);
    expect([...open]).toEqual(ours.map((number) => [number, 4261n]));
  },
);

async function numbers(system: TestSystem, organisationId: string): Promise<readonly string[]> {
  const { invoice } = tables(system.pool);
  const rows = await invoice.findMany({ where: { organisationId }, orderBy: { number: "asc" } });
  return rows.map(({ number }) => number);
}

/** All documents in Tryton, by our numbers. */
async function inTryton(access: TrytonAccess): Promise<readonly string[]> {
  const rows = await readTryton(access, "account.invoice", [], ["reference", "state"]);
  return rows.map(({ reference, state }) => `${reference} ${state}`).toSorted();
}
