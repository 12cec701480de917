/** Reports that come together share a transaction, each with its answer. */
import { expect, test } from "vitest";
import type { ReportedUsage, UsageVerdict } from "../../../src/domain/usage/ingest.ts";
import { readQuantity, readTimestamp } from "../../../src/domain/usage/parse.ts";
import { joinReports, type UsageReport } from "../../../src/store/usage/join-reports.ts";

const [quantity, occurredAt] = [readQuantity("1"), readTimestamp("2026-03-12T12:00:00Z")];
const now = new Date("2026-03-12T12:00:00Z");

function events(...ids: readonly string[]): readonly ReportedUsage[] {
  if (quantity === null || occurredAt === null) throw new Error("no event");
  const meter = { by: "code", value: "api-calls" } as const;
  return ids.map((eventId) => ({ eventId, subscription: "s", meter, quantity, occurredAt }));
}

/** A transaction under way, with the ids of its events by organisation. */
interface Begun {
  readonly ids: readonly (readonly string[])[];
  readonly end: (failure?: Error) => void;
}

/** A store that ends when the test says so. It rejects `refused`, and leaves out `busy`. */
function manual() {
  const begun: Begun[] = [];
  const begin = async (batches: readonly UsageReport[]) => {
    const ended = Promise.withResolvers<void>();
    const ids = batches.map(({ reported }) => reported.map(({ eventId }) => eventId));
    begun.push({ ids, end: (failure) => (failure ? ended.reject(failure) : ended.resolve()) });
    await ended.promise;
    return ids.map((batch) => batch.map(verdictOf));
  };
  const store = joinReports({
    together: async (batches) => {
      const verdicts = await begin(batches);
      return batches.map(({ organisationId }, at) =>
        organisationId === "busy" ? null : (verdicts[at] ?? null),
      );
    },
    alone: async (batch) => (await begin([batch])).flat(),
  });
  const report = (organisationId: string, reported: readonly ReportedUsage[]) =>
    store({ organisationId, reported, now });
  return { begun, report };
}

function verdictOf(id: string): UsageVerdict {
  const rejected = { status: "rejected", code: "meter_not_found", message: id } as const;
  return id === "refused" ? rejected : { status: "created" };
}

/** Lets what is ready run. */
const runReady = () => new Promise((resolve) => setImmediate(resolve));

const created = [{ status: "created" }];
const idsOf = (begun: readonly Begun[]) => begun.map(({ ids }) => ids);
const sizesOf = (begun: readonly Begun[]) =>
  begun.map(({ ids }) => ids.map(({ length }) => length));

const many = (count: number) => events(...Array.from({ length: count }, (_, n) => String(n)));

test("an organisation's reports wait while one is stored, then share a transaction", async () => {
  const { begun, report } = manual();
  const answers = ["a", "b", "refused", "c"].map((id) => report("own", events(id)));
  await runReady();
  expect(idsOf(begun)).toEqual([[["a"]]]);
  begun[0]?.end();
  await runReady();
  expect(begun[1]?.ids).toEqual([["b", "refused", "c"]]);
  begun[1]?.end();
  const statuses = (await Promise.all(answers)).map((verdicts) => verdicts.map((v) => v.status));
  expect(statuses).toEqual([["created"], ["created"], ["rejected"], ["created"]]);
});

test("organisations share the next transaction, and each report has its answer", async () => {
  const { begun, report } = manual();
  for (const id of ["x", "y", "z"]) void report(id, events(id));
  const first = [report("first", many(2)), report("first", events("refused", "y"))];
  const second = report("second", many(3));
  await runReady();
  expect(sizesOf(begun)).toEqual([[1], [1], [1]]);
  begun[1]?.end();
  await runReady();
  expect(sizesOf(begun).slice(3)).toEqual([[4, 3]]);
  begun[3]?.end();
  const lengths = (await Promise.all([...first, second])).map(({ length }) => length);
  expect(lengths).toEqual([2, 2, 3]);
});

test("a report never waits for another organisation that reports faster", async () => {
  const { begun, report } = manual();
  for (let full = 0; full < 5; full += 1) void report("own", many(400));
  const other = report("other", events("x"));
  await runReady();
  expect(sizesOf(begun)).toEqual([[400], [1]]);
  begun[1]?.end();
  expect(await other).toEqual(created);
});

test("a report that must wait is stored alone and holds up no other organisation", async () => {
  const { begun, report } = manual();
  const busy = ["a", "b"].map((id) => report("busy", events(id)));
  await runReady();
  begun[0]?.end();
  await runReady();
  expect(idsOf(begun).slice(1)).toEqual([[["a"]]]);
  const others = Array.from({ length: 3 }, (_, n) => report(String(n), events("x")));
  await runReady();
  for (const { end } of begun.slice(2)) end();
  expect(await Promise.all(others)).toEqual([created, created, created]);
  for (let at = 0; at < 3; at += 1) {
    for (const { end } of begun) end();
    await runReady();
  }
  expect(await Promise.all(busy)).toEqual([created, created]);
  expect(idsOf(begun).slice(5)).toEqual([[["b"]], [["b"]]]);
});

test("a transaction takes reports until it has enough events", async () => {
  const { begun, report } = manual();
  void report("own", events("a"));
  for (const count of [400, 399, 1, 100]) void report("own", many(count));
  await runReady();
  begun[0]?.end();
  await runReady();
  expect(sizesOf(begun).slice(1)).toEqual([[800]]);
  begun[1]?.end();
  await runReady();
  expect(sizesOf(begun).slice(2)).toEqual([[100]]);
});

test("after a failure each report is stored by itself, and only the faulty one fails", async () => {
  const { begun, report } = manual();
  for (const id of ["x", "y", "z"]) void report(id, events(id));
  const [good, bad] = [report("own", events("good")), report("own", events("bad"))];
  const other = report("other", events("o"));
  bad.catch(() => undefined);
  await runReady();
  begun[0]?.end();
  await runReady();
  begun[3]?.end(new Error("one value is too large"));
  await runReady();
  for (const { end } of begun.slice(4)) end();
  await runReady();
  begun.at(-1)?.end(new Error("too large"));
  expect(idsOf(begun).slice(3)).toEqual([[["good", "bad"], ["o"]], [["good"]], [["o"]], [["bad"]]]);
  expect([await good, await other]).toEqual([created, created]);
  await expect(bad).rejects.toThrow("too large");
});

test("a lost database fails every report of the transaction once", async () => {
  const { begun, report } = manual();
  void report("own", events("a"));
  const outcomes = Promise.allSettled(["d", "e"].map((id) => report("own", events(id))));
  await runReady();
  begun[0]?.end();
  await runReady();
  begun[1]?.end(Object.assign(new Error("lost"), { code: "ECONNRESET" }));
  expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(begun).toHaveLength(2);
});
