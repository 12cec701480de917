/** Calls over a limit are refused at once, and each call that ends leaves its place (LIMIT-3). */
import { describe, expect, test } from "vitest";
import { createCallLimit } from "../../../src/transport/rpc/call-limit.ts";

const tooBusyText = "Busy";
const refusal = { code: "temporarily_unavailable", message: tooBusyText, retryAfterSeconds: 1 };

/** Three calls in all, two of one organisation. Each call lasts until it is ended. */
function calls() {
  const limit = createCallLimit({ max: 3, maxOfCaller: 2, tooBusyText });
  return (organisationId: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const done = limit(organisationId, () => promise);
    done.catch(() => undefined);
    return { done, end: () => resolve("done"), fail: () => reject(new Error("failed")) };
  };
}

describe("a call", () => {
  test("over the limit of its organisation is refused, and another's is not", async () => {
    const begin = calls();
    const [first] = [begin("a"), begin("a")];
    await expect(begin("a").done).rejects.toMatchObject(refusal);
    const other = begin("b");
    other.end();
    expect(await other.done).toBe("done");
    first?.end();
    expect(await first?.done).toBe("done");
    const next = begin("a");
    next.end();
    expect(await next.done).toBe("done");
  });

  test("over the limit of the process is refused to all organisations", async () => {
    const begin = calls();
    const [first] = [begin("a"), begin("a"), begin("b")];
    await expect(begin("c").done).rejects.toMatchObject(refusal);
    first?.end();
    await first?.done;
    const next = begin("c");
    next.end();
    expect(await next.done).toBe("done");
  });

  test("that fails leaves its place to the next", async () => {
    const begin = calls();
    const failing = [begin("a"), begin("a")];
    for (const { fail, done } of failing) {
      fail();
      await expect(done).rejects.toThrow("failed");
    }
    const next = [begin("a"), begin("a")];
    for (const { end } of next) end();
    expect(await Promise.all(next.map(({ done }) => done))).toEqual(["done", "done"]);
  });
});
