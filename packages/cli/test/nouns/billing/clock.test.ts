/** `billing clock`: its requests, and the progress and exit code of `--wait`. */
import { expect } from "vitest";
import { TestClockState } from "../../../../../src/gen/proto/billing/admin/v1/test_clock_pb.ts";
import { organisation, refuse, run, cliTest as test } from "../../calls-fixture.ts";

test.beforeEach(({ server }) => server.answer({}));

/** The message of a clock that has performed this much. */
function clock(state: TestClockState, now: string, performed: number): object {
  const advance = { from: "2026-04-01T00:00:00.000Z", to: "2026-06-01T00:00:00.000Z", performed };
  return {
    testClock: { organisation, state, now, advance: { ...advance, invoicesIssued: performed } },
  };
}

const advancing = (now: string, performed: number) =>
  clock(TestClockState.ADVANCING, now, performed);
const finished = clock(TestClockState.STANDING, "2026-06-01T00:00:00.000Z", 20);

test("clock advance takes an instant, days or months, and does not wait", async ({ server }) => {
  server.answer({ AdvanceTestClock: () => advancing("2026-04-01T00:00:00.000Z", 0) });
  const ended = await run("clock advance --to 2026-06-01", { env: server.env });
  expect(ended).toMatchObject({ exitCode: 0, err: "" });
  expect(ended.out).toMatch(/^state +advancing$/m);
  expect(ended.out).toMatch(/^advance to +2026-06-01T00:00:00.000Z$/m);
  await run("clock advance --days 3", { env: server.env });
  await run("clock advance --months 2", { env: server.env });
  expect(server.received.map(({ method, request }) => [method, request])).toEqual([
    ["AdvanceTestClock", { organisation, to: "2026-06-01" }],
    ["AdvanceTestClock", { organisation, days: 3 }],
    ["AdvanceTestClock", { organisation, months: 2 }],
  ]);
});

test("clock advance --wait shows each step once, and then the clock", async ({ server }) => {
  const steps = [
    advancing("2026-04-30T22:00:00.000Z", 10),
    advancing("2026-04-30T22:00:00.000Z", 10),
    finished,
  ];
  server.answer({
    AdvanceTestClock: () => advancing("2026-04-01T00:00:00.000Z", 0),
    GetTestClock: () => steps.shift() ?? finished,
  });
  const ended = await run("clock advance --months 2 --wait --json", { env: server.env });
  expect(ended.exitCode).toBe(0);
  expect(ended.err.split("\n")).toEqual([
    "2026-04-01T00:00:00.000Z: 0 performed, 0 invoices issued",
    "2026-04-30T22:00:00.000Z: 10 performed, 10 invoices issued",
    "",
  ]);
  expect(JSON.parse(ended.out)).toMatchObject({
    state: "standing",
    now: "2026-06-01T00:00:00.000Z",
  });
});

test("clock advance --wait exits with 1 if the time is up before", async ({ server }) => {
  const onTheWay = () => advancing("2026-04-30T22:00:00.000Z", 10);
  server.answer({ AdvanceTestClock: onTheWay, GetTestClock: onTheWay });
  const ended = await run("clock advance --months 2 --wait 0.01", { env: server.env });
  expect(ended).toMatchObject({ exitCode: 1, out: expect.stringMatching(/^state +advancing$/m) });
});

test("clock advance reports a refusal, and refuses a wrong number of seconds", async ({
  server,
}) => {
  server.answer({ AdvanceTestClock: () => refuse("invalid_state", "The organisation is live.") });
  const refused = await run("clock advance --days 1 --wait", { env: server.env });
  expect(refused).toMatchObject({
    exitCode: 1,
    err: expect.stringContaining("invalid_state: The organisation is live."),
  });
  expect(await run("clock advance --days 1 --wait soon", { env: server.env })).toMatchObject({
    exitCode: 2,
  });
  expect(server.received).toHaveLength(1);
});
