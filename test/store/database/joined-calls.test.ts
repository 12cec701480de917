/** Calls of a group that come together share a statement, each with its answer. */
import { expect, test } from "vitest";
import { joinCalls } from "../../../src/store/database/joined-calls.ts";

/** A statement under way. */
interface Begun {
  readonly calls: readonly string[];
  readonly end: (failure?: Error) => void;
}

/** Statements that end when the test says so. A statement with the call `refused` rejects. */
function manual({ atOnce = 1, mostWaiting = 10 } = {}) {
  const begun: Begun[] = [];
  const call = joinCalls<string, string>({
    most: 3,
    atOnce,
    mostWaiting,
    run: async (group, calls) => {
      const ended = Promise.withResolvers<void>();
      begun.push({ calls, end: (e) => (e === undefined ? ended.resolve() : ended.reject(e)) });
      await ended.promise;
      if (calls.includes("refused")) throw new Error("refused");
      return calls.map((one) => `${group} ${one}`);
    },
  });
  return { begun, call };
}

/** Lets what is ready run. */
const runReady = () => new Promise((resolve) => setImmediate(resolve));

const callsOf = (begun: readonly Begun[]) => begun.map(({ calls }) => calls.join(" "));

test("calls of one iteration go together, later ones with the next statement", async () => {
  const { begun, call } = manual();
  const first = [call("a", "1"), call("a", "2")];
  await runReady();
  const later = ["3", "4", "5", "6"].map((one) => call("a", one));
  await runReady();
  expect(callsOf(begun)).toEqual(["1 2"]);
  begun[0]?.end();
  expect(await Promise.all(first)).toEqual(["a 1", "a 2"]);
  await runReady();
  expect(callsOf(begun)).toEqual(["1 2", "3 4 5"]);
  begun[1]?.end();
  await runReady();
  begun[2]?.end();
  expect(await Promise.all(later)).toEqual(["a 3", "a 4", "a 5", "a 6"]);
});

test("as many statements of a group run as may, and groups never wait for each other", async () => {
  const { begun, call } = manual({ atOnce: 2 });
  const answers: Promise<string>[] = [];
  for (const [group, one] of ["a1", "a2", "a3", "a4", "b1"].map((text) => [...text])) {
    answers.push(call(String(group), String(one)));
    await runReady();
  }
  expect(callsOf(begun)).toEqual(["1", "2", "1"]);
  begun[1]?.end();
  await runReady();
  expect(callsOf(begun)).toEqual(["1", "2", "1", "3 4"]);
  for (const { end } of begun) end();
  expect(await Promise.all(answers)).toEqual(["a 1", "a 2", "a 3", "a 4", "b 1"]);
});

test("after a failure each call is made by itself and has its own failure only", async () => {
  const { begun, call } = manual();
  const answers = Promise.allSettled([call("a", "1"), call("a", "refused"), call("a", "2")]);
  for (const _ of [1, 2, 3, 4]) {
    await runReady();
    begun.at(-1)?.end();
  }
  const [one, refused, two] = await answers;
  expect(callsOf(begun)).toEqual(["1 refused 2", "1", "refused", "2"]);
  expect([one, two]).toEqual([
    { status: "fulfilled", value: "a 1" },
    { status: "fulfilled", value: "a 2" },
  ]);
  expect(refused).toMatchObject({ status: "rejected", reason: { message: "refused" } });
});

test("if the database was lost, no call is made again", async () => {
  const { begun, call } = manual();
  const answers = Promise.allSettled([call("a", "1"), call("a", "2")]);
  await runReady();
  begun[0]?.end(Object.assign(new Error("lost"), { code: "57P01" }));
  for (const answer of await answers)
    expect(answer).toMatchObject({ status: "rejected", reason: { message: "lost" } });
  await runReady();
  expect(begun).toHaveLength(1);
});

test("with too many waiting calls one more is refused, and a group can begin again", async () => {
  const { begun, call } = manual({ mostWaiting: 2 });
  const first = call("a", "1");
  await runReady();
  const waiting = [call("a", "2"), call("a", "3")];
  await expect(call("a", "4")).rejects.toMatchObject({ code: "53300" });
  begun[0]?.end();
  expect(await first).toBe("a 1");
  await runReady();
  begun[1]?.end();
  expect(await Promise.all(waiting)).toEqual(["a 2", "a 3"]);
  const again = call("a", "5");
  await runReady();
  begun[2]?.end();
  expect(await again).toBe("a 5");
});
