/** Calls get their permits in turn by organisation, and give them back while they wait. */
import { describe, expect, test } from "vitest";
import {
  createPermits,
  type PermitObserver,
  permitLimits,
} from "../../../src/transport/rpc/permits.ts";

/** Each step starts at once. */
const unpaced = { next: () => null };

/** What was measured: how many wait, and each wait with its outcome, in milliseconds. */
function measured() {
  let waiting = 0;
  const waits: { readonly outcome: string; readonly ms: number }[] = [];
  const observer: PermitObserver = {
    onWaiting: (change) => {
      waiting += change;
    },
    onWaited: (outcome, ms) => {
      waits.push({ outcome, ms });
    },
  };
  return { observer, waits, waiting: () => waiting };
}

/** Two permits, one for each organisation. */
function calls(waitMs = 600_000) {
  const stopping = new AbortController();
  const { observer, ...observed } = measured();
  const limits = { permits: 2, mostOfOrganisation: 1, waitMs };
  const withPermit = createPermits({ stopping: stopping.signal, limits, pace: unpaced, observer });
  const begun: string[] = [];
  const begin = (name: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const client = new AbortController();
    const request = { organisationId: name.charAt(0), signal: client.signal };
    const outside = Promise.withResolvers<void>();
    const done = withPermit(request, async (waitOutside) => {
      begun.push(name);
      if (name.endsWith("outside")) {
        await waitOutside(() => outside.promise);
        begun.push(`${name} again`);
      }
      await promise;
      return name;
    });
    done.catch(() => undefined);
    return { done, end: resolve, client, back: outside.resolve };
  };
  return { begun, begin, stopping, observed };
}

const runReady = () => new Promise((resolve) => setImmediate(resolve));

describe("a permit", () => {
  test("of another organisation is free while one has its most", async () => {
    const { begun, begin } = calls();
    const [first] = [begin("a1"), begin("a2"), begin("a3"), begin("b1")];
    await runReady();
    expect(begun).toEqual(["a1", "b1"]);
    first?.end();
    expect(await first?.done).toBe("a1");
    await runReady();
    expect(begun).toEqual(["a1", "b1", "a2"]);
  });

  test("is free for other calls while its call waits outside, which then goes first", async () => {
    const { begun, begin } = calls();
    const [outside, second] = [begin("a outside"), begin("a2"), begin("a3")];
    await runReady();
    expect(begun).toEqual(["a outside", "a2"]);
    outside?.back();
    await runReady();
    second?.end();
    await runReady();
    expect(begun).toEqual(["a outside", "a2", "a outside again"]);
  });

  test("is not taken by a call whose client has disconnected", async () => {
    const { begun, begin } = calls();
    const [first, second] = [begin("a1"), begin("a2"), begin("a3")];
    second?.client.abort();
    await expect(second?.done).rejects.toMatchObject({ code: "temporarily_unavailable" });
    first?.end();
    await runReady();
    expect(begun).toEqual(["a1", "a3"]);
  });

  test("is not awaited by a call whose client had disconnected before", async () => {
    const { signal } = new AbortController();
    const limits = { permits: 1, mostOfOrganisation: 1, waitMs: 600_000 };
    const withPermit = createPermits({
      stopping: signal,
      limits,
      pace: unpaced,
      observer: measured().observer,
    });
    const held = Promise.withResolvers<void>();
    const first = withPermit({ organisationId: "a", signal }, () => held.promise);
    const gone = { organisationId: "a", signal: AbortSignal.abort() };
    const refused = withPermit(gone, async () => "begun");
    await expect(refused).rejects.toMatchObject({ code: "temporarily_unavailable" });
    held.resolve();
    await first;
  });

  test("is still given to calls that wait when the process drains", async () => {
    const { begun, begin, stopping } = calls();
    const [first, second] = [begin("a1"), begin("a2")];
    stopping.abort();
    // Connect's library aborts the signal of each call at that moment.
    second?.client.abort();
    first?.end();
    await runReady();
    expect(begun).toEqual(["a1", "a2"]);
  });

  test("is refused to a call that has waited too long", async () => {
    const { begin } = calls(0);
    const [first, second] = [begin("a1"), begin("a2")];
    const refusal = { code: "temporarily_unavailable", retryAfterSeconds: 1 };
    await expect(second?.done).rejects.toMatchObject(refusal);
    first?.end();
    expect(await first?.done).toBe("a1");
  });

  test("is counted while it is awaited, with the time and outcome of each wait", async () => {
    const { begin, observed } = calls();
    const [first, second, third] = [begin("a1"), begin("a outside"), begin("a3")];
    await runReady();
    expect(observed.waiting()).toBe(2);
    expect(observed.waits).toEqual([{ outcome: "ok", ms: 0 }]);
    third?.client.abort();
    await third?.done.catch(() => undefined);
    expect(observed.waiting()).toBe(1);
    first?.end();
    await runReady();
    // The second call has its permit, gives it back and takes it again.
    expect(observed.waiting()).toBe(0);
    second?.back();
    await runReady();
    const waited = { ms: expect.toSatisfy((ms: number) => ms > 0) };
    expect(observed.waits.slice(1)).toEqual([
      { outcome: "failed", ...waited },
      { outcome: "ok", ...waited },
      { outcome: "ok", ms: 0 },
    ]);
  });

  test("is counted while a call awaits it again after its wait outside", async () => {
    const { begin, observed } = calls();
    const [outside, second] = [begin("a outside"), begin("a2")];
    await runReady();
    outside?.back();
    await runReady();
    expect(observed.waiting()).toBe(1);
    second?.end();
    await runReady();
    expect(observed.waiting()).toBe(0);
    expect(observed.waits.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "ok"]);
    expect(observed.waits[2]?.ms).toBeGreaterThan(0);
  });

  test("is given back by a call that fails", async () => {
    const stopping = new AbortController();
    const limits = { permits: 1, mostOfOrganisation: 1, waitMs: 600_000 };
    const withPermit = createPermits({
      stopping: stopping.signal,
      limits,
      pace: unpaced,
      observer: measured().observer,
    });
    const request = { organisationId: "a", signal: stopping.signal };
    const fail = () => Promise.reject(new Error("failed"));
    await expect(withPermit(request, (outside) => outside(fail))).rejects.toThrow("failed");
    expect(await withPermit(request, async () => "next")).toBe("next");
  });
});

test("calls that have permits begin at the pace of the event loop", async () => {
  const { signal } = new AbortController();
  const limits = { permits: 9, mostOfOrganisation: 8, waitMs: 600_000 };
  const steps: (() => void)[] = [];
  const pace = { next: () => new Promise<void>((resolve) => steps.push(resolve)) };
  const withPermit = createPermits({
    stopping: signal,
    limits,
    pace,
    observer: measured().observer,
  });
  const begun: number[] = [];
  const done = [1, 2].map((number) =>
    withPermit({ organisationId: "a", signal }, async (waitOutside) => {
      begun.push(number);
      await waitOutside(async () => undefined);
      begun.push(number * 10);
    }),
  );
  for (const expected of [[1], [1, 2], [1, 2, 10], [1, 2, 10, 20]]) {
    await runReady();
    steps.shift()?.();
    await runReady();
    expect(begun).toEqual(expected);
  }
  await Promise.all(done);
});

test("permits leave connections to admissions, and one organisation leaves permits", () => {
  expect(permitLimits(10)).toMatchObject({ permits: 8, mostOfOrganisation: 6 });
  expect(permitLimits(1)).toMatchObject({ permits: 2, mostOfOrganisation: 1 });
});
