/** Reports of an organisation that come together share a transaction, each with its answer. */
import { expect, test } from "vitest";
import type { ReportedUsage, UsageVerdict } from "../../../src/domain/usage/ingest.ts";
import { readQuantity, readTimestamp } from "../../../src/domain/usage/parse.ts";
import { isDatabaseUnreachable } from "../../../src/store/access/api-keys.ts";
import type { StoreUsage } from "../../../src/store/usage/batch.ts";
import { joinReports } from "../../../src/store/usage/join-reports.ts";

const [quantity, occurredAt] = [readQuantity("1"), readTimestamp("2026-03-12T12:00:00Z")];
const now = new Date("2026-03-12T12:00:00Z");

function events(...ids: readonly string[]): readonly ReportedUsage[] {
  if (quantity === null || occurredAt === null) throw new Error("no event");
  const meter = { by: "code", value: "api-calls" } as const;
  return ids.map((eventId) => ({ eventId, subscription: "s", meter, quantity, occurredAt }));
}

/** A store whose transactions end when the test says so. It rejects each event named `refused`. */
function manual() {
  const begun: { readonly ids: readonly string[]; readonly end: (failure?: Error) => void }[] = [];
  const store: StoreUsage = async (_, reported) => {
    const ended = Promise.withResolvers<void>();
    const ids = reported.map(({ eventId }) => eventId);
    begun.push({ ids, end: (failure) => (failure ? ended.reject(failure) : ended.resolve()) });
    await ended.promise;
    return ids.map((id): UsageVerdict => {
      const rejected = { status: "rejected", code: "meter_not_found", message: id } as const;
      return id === "refused" ? rejected : { status: "created" };
    });
  };
  return { begun, report: joinReports(store) };
}

/** Lets what is ready run. */
const runReady = () => new Promise((resolve) => setImmediate(resolve));

test("reports wait while three transactions run, and then share the next one", async () => {
  const { begun, report } = manual();
  const answers = ["a", "b", "c", "d", "refused", "e"].map((id) => report("own", events(id), now));
  await runReady();
  expect(begun.map(({ ids }) => ids)).toEqual([["a"], ["b"], ["c"]]);
  begun[1]?.end();
  await runReady();
  expect(begun[3]?.ids).toEqual(["d", "refused", "e"]);
  for (const { end } of begun) end();
  const statuses = (await Promise.all(answers)).map((verdicts) => verdicts.map((v) => v.status));
  const created = ["created"];
  expect(statuses).toEqual([created, created, created, created, ["rejected"], created]);
});

test("an organisation waits for none of another one", async () => {
  const { begun, report } = manual();
  for (const id of ["a", "b", "c", "d"]) void report("own", events(id), now);
  void report("other", events("x"), now);
  await runReady();
  expect(begun.map(({ ids }) => ids)).toEqual([["a"], ["b"], ["c"], ["x"]]);
});

test("a transaction takes reports up to a hundred events, and a larger one alone", async () => {
  const { begun, report } = manual();
  for (const id of ["a", "b", "c"]) void report("own", events(id), now);
  const many = (count: number) => events(...Array.from({ length: count }, (_, n) => String(n)));
  for (const count of [60, 40, 1, 100, 2]) void report("own", many(count), now);
  await runReady();
  for (const { end } of [...begun]) end();
  await runReady();
  expect(begun.slice(3).map(({ ids }) => ids.length)).toEqual([100, 1, 100]);
  begun[3]?.end();
  await runReady();
  expect(begun.slice(6).map(({ ids }) => ids.length)).toEqual([2]);
});

test("after a failure each report is stored by itself, and only the faulty one fails", async () => {
  const { begun, report } = manual();
  for (const id of ["a", "b", "c"]) void report("own", events(id), now);
  const [good, bad] = [report("own", events("good"), now), report("own", events("bad"), now)];
  bad.catch(() => undefined);
  await runReady();
  begun[0]?.end();
  await runReady();
  begun[3]?.end(new Error("one value is too large"));
  await runReady();
  begun[4]?.end();
  await runReady();
  begun[5]?.end(new Error("too large"));
  expect(begun.slice(3).map(({ ids }) => ids)).toEqual([["good", "bad"], ["good"], ["bad"]]);
  expect(await good).toEqual([{ status: "created" }]);
  await expect(bad).rejects.toThrow("too large");
});

test("a lost database fails every report of the transaction once", async () => {
  const { begun, report } = manual();
  for (const id of ["a", "b", "c"]) void report("own", events(id), now);
  const waiting = ["d", "e"].map((id) => report("own", events(id), now));
  const outcomes = Promise.allSettled(waiting);
  await runReady();
  begun[0]?.end();
  await runReady();
  begun[3]?.end(Object.assign(new Error("lost"), { code: "ECONNRESET" }));
  expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(begun).toHaveLength(4);
});

test("a report is refused while a thousand wait, and those are stored", async () => {
  const { begun, report } = manual();
  const most = 3 + 1_000;
  const answers = Array.from({ length: most }, (_, n) => report("own", events(String(n)), now));
  const refused = await report("own", events("more"), now).catch((error: unknown) => error);
  expect(isDatabaseUnreachable(refused)).toBe(true);
  const another = report("other", events("x"), now);
  for (let at = 0; at < 3 + 10 + 1; at += 1) {
    await runReady();
    for (const { end } of begun) end();
  }
  expect(await Promise.all([...answers, another])).toHaveLength(most + 1);
});
