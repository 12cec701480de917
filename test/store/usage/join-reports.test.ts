/** Reports of an organisation that come together share a transaction, each with its answer. */
import { expect, test } from "vitest";
import type { ReportedUsage, UsageVerdict } from "../../../src/domain/usage/ingest.ts";
import { readQuantity, readTimestamp } from "../../../src/domain/usage/parse.ts";
import { isDatabaseUnreachable } from "../../../src/store/database/unreachable.ts";
import type { UsageReports } from "../../../src/store/usage/batch.ts";
import { joinReports } from "../../../src/store/usage/join-reports.ts";

const [quantity, occurredAt] = [readQuantity("1"), readTimestamp("2026-03-12T12:00:00Z")];
const now = new Date("2026-03-12T12:00:00Z");

function events(...ids: readonly string[]): readonly ReportedUsage[] {
  if (quantity === null || occurredAt === null) throw new Error("no event");
  const meter = { by: "code", value: "api-calls" } as const;
  return ids.map((eventId) => ({ eventId, subscription: "s", meter, quantity, occurredAt }));
}

/** A statement or a batch alone under way, with the ids of its events by organisation. */
interface Begun {
  readonly ids: readonly (readonly string[])[];
  readonly end: (failure?: Error) => void;
}

/** A store that ends when the test says so. It rejects `refused`, and leaves out `busy`. */
function manual() {
  const begun: Begun[] = [];
  const begin = async (batches: readonly UsageReports[]) => {
    const ended = Promise.withResolvers<void>();
    const ids = batches.map(({ reported }) => reported.map(({ eventId }) => eventId));
    begun.push({ ids, end: (failure) => (failure ? ended.reject(failure) : ended.resolve()) });
    await ended.promise;
    return ids.map((batch) => batch.map(verdictOf));
  };
  const report = joinReports({
    together: async (batches) => {
      const verdicts = await begin(batches);
      return batches.map(({ organisationId }, at) =>
        organisationId === "busy" ? null : (verdicts[at] ?? null),
      );
    },
    alone: async (batch) => (await begin([batch])).flat(),
  });
  return { begun, report };
}

function verdictOf(id: string): UsageVerdict {
  const rejected = { status: "rejected", code: "meter_not_found", message: id } as const;
  return id === "refused" ? rejected : { status: "created" };
}

/** Lets what is ready run. */
const runReady = () => new Promise((resolve) => setImmediate(resolve));

const sizesOf = (begun: readonly Begun[]) =>
  begun.map(({ ids }) => ids.map(({ length }) => length));

const many = (count: number) => events(...Array.from({ length: count }, (_, n) => String(n)));

test("reports wait while a statement runs, and then share the next one", async () => {
  const { begun, report } = manual();
  const answers = ["a", "b", "refused", "c"].map((id) => report("own", events(id), now));
  await runReady();
  expect(begun.map(({ ids }) => ids)).toEqual([[["a"]]]);
  begun[0]?.end();
  await runReady();
  expect(begun[1]?.ids).toEqual([["b", "refused", "c"]]);
  begun[1]?.end();
  const statuses = (await Promise.all(answers)).map((verdicts) => verdicts.map((v) => v.status));
  expect(statuses).toEqual([["created"], ["created"], ["rejected"], ["created"]]);
});

test("up to three statements run, the others if enough events wait for them", async () => {
  const { begun, report } = manual();
  for (const count of [1, 399, 1, 400, 300, 400, 500]) void report("own", many(count), now);
  await runReady();
  expect(sizesOf(begun)).toEqual([[1], [400], [400]]);
  begun[1]?.end();
  await runReady();
  expect(sizesOf(begun).slice(3)).toEqual([[700]]);
});

test("organisations share a statement in turn, and each report has its answer", async () => {
  const { begun, report } = manual();
  for (let full = 0; full < 3; full += 1) void report("own", many(400), now);
  void report("first", events("f"), now);
  const own = [report("own", many(700), now), report("own", events("refused", "y"), now)];
  const other = report("other", many(90), now);
  for (const size of [20, 700]) void report("third", many(size), now);
  await runReady();
  begun[0]?.end();
  await runReady();
  // The statement apart has its organisation.
  expect(sizesOf(begun).slice(3)).toEqual([[1], [700, 90]]);
  begun[4]?.end();
  await runReady();
  expect(sizesOf(begun)[5]).toEqual([720, 2]);
  begun[5]?.end();
  const lengths = (await Promise.all([...own, other])).map(({ length }) => length);
  expect(lengths).toEqual([700, 2, 90]);
});

test("a report never waits for statements of an organisation that reports faster", async () => {
  const { begun, report } = manual();
  for (let full = 0; full < 5; full += 1) void report("own", many(400), now);
  const other = report("other", events("x"), now);
  const third = [report("third", events("y"), now), report("fourth", events("z"), now)];
  await runReady();
  expect(sizesOf(begun)).toEqual([[400], [400], [400], [1]]);
  begun[3]?.end();
  expect(await other).toEqual([{ status: "created" }]);
  await runReady();
  expect(begun[4]?.ids).toEqual([["y"], ["z"]]);
  begun[4]?.end();
  expect(await Promise.all(third)).toHaveLength(2);
  expect(begun).toHaveLength(5);
});

test("an organisation that must wait is stored alone and holds up no other", async () => {
  const { begun, report } = manual();
  const busy = Array.from({ length: 4 }, () => report("busy", many(400), now));
  await runReady();
  for (const { end } of [...begun]) end();
  await runReady();
  expect(sizesOf(begun)).toEqual(Array(6).fill([400]));
  const other = report("other", events("x"), now);
  await runReady();
  begun[6]?.end();
  expect(await other).toEqual([{ status: "created" }]);
  for (let at = 0; at < 3; at += 1) {
    for (const { end } of [...begun]) end();
    await runReady();
  }
  expect(await Promise.all(busy)).toHaveLength(4);
});

test("a statement takes reports up to its limit of events, and a larger one alone", async () => {
  const { begun, report } = manual();
  for (const count of [400, 400, 400, 500, 300, 1, 900, 2]) void report("own", many(count), now);
  await runReady();
  for (const { end } of [...begun]) end();
  await runReady();
  expect(sizesOf(begun).slice(3)).toEqual([[800], [1], [900]]);
  for (const { end } of [...begun]) end();
  await runReady();
  for (const { end } of [...begun]) end();
  await runReady();
  expect(sizesOf(begun).at(-1)).toEqual([2]);
});

test("after a failure each report is stored by itself, and only the faulty one fails", async () => {
  const { begun, report } = manual();
  void report("own", events("a"), now);
  const [good, bad] = [report("own", events("good"), now), report("own", events("bad"), now)];
  void report("first", events("f"), now);
  const other = report("other", events("x"), now);
  bad.catch(() => undefined);
  await runReady();
  begun[0]?.end();
  await runReady();
  begun[2]?.end(new Error("one value is too large"));
  await runReady();
  for (const { end } of begun.slice(3)) end();
  await runReady();
  begun.at(-1)?.end(new Error("too large"));
  const taken = begun.slice(2).map(({ ids }) => ids);
  expect(taken).toEqual([[["good", "bad"], ["x"]], [["good"]], [["x"]], [["bad"]]]);
  expect([await good, await other]).toEqual([[{ status: "created" }], [{ status: "created" }]]);
  await expect(bad).rejects.toThrow("too large");
});

test("a lost database fails every report of the statement once", async () => {
  const { begun, report } = manual();
  void report("own", events("a"), now);
  const waiting = ["d", "e"].map((id) => report("own", events(id), now));
  const outcomes = Promise.allSettled(waiting);
  await runReady();
  begun[0]?.end();
  await runReady();
  begun[1]?.end(Object.assign(new Error("lost"), { code: "ECONNRESET" }));
  expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(begun).toHaveLength(2);
});

test("a report is refused while a thousand wait, and those are stored", async () => {
  const { begun, report } = manual();
  const most = 1 + 1_000 + 2 * 400;
  const answers = Array.from({ length: most }, (_, n) => report("own", events(String(n)), now));
  const refused = await report("own", events("more"), now).catch((error: unknown) => error);
  expect(isDatabaseUnreachable(refused)).toBe(true);
  const another = report("other", events("x"), now);
  for (let at = 0; at < 3 + 3; at += 1) {
    await runReady();
    for (const { end } of begun) end();
  }
  expect(await Promise.all([...answers, another])).toHaveLength(most + 1);
});
