/**
 * Readiness is found out once a second for everyone who asks, one check at a time, and changes are
 * reported.
 */
import { afterEach, describe, expect, test } from "vitest";
import {
  createReadiness,
  type Readiness,
  type ReadinessReport,
  type ReadinessSettings,
} from "../../../src/transport/http/readiness.ts";
import { floodOfResets } from "../../support/http2-flood.ts";
import { startPort } from "./port-fixture.ts";

const opened: Readiness[] = [];
afterEach(() => Promise.all(opened.splice(0).map((readiness) => readiness.close())));

function open(settings: ReadinessSettings): Readiness {
  const readiness = createReadiness(settings);
  opened.push(readiness);
  return readiness;
}

const fine = async () => null;
const broken = () => Promise.reject(new Error("password in here"));
const anHour = 3_600_000;

test("requests for /readyz on two ports, answered or reset, run one check in all", async () => {
  let runs = 0;
  const check = async () => {
    runs += 1;
    return null;
  };
  const readiness = open({ checks: { database: { required: true, check } }, everyMs: anHour });
  const ports = await Promise.all([1, 2].map(() => startPort(() => ({}), { readiness })));
  const floods = ports.map(({ port }) => floodOfResets(port, "/readyz", 5, 900));
  for (const { base } of ports) {
    const answers = await Promise.all(Array.from({ length: 100 }, () => fetch(`${base}/readyz`)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  }
  for (const flood of floods) flood.end();
  await Promise.all(ports.map((port) => port.stop({ graceMs: 0 })));
  expect(runs).toBe(1);
});

describe("a report", () => {
  test("is ready if every required part is there, and shows each part", async () => {
    const temporal = { required: false, check: broken };
    const ready = open({ checks: { database: { required: true, check: fine }, temporal } });
    expect(await ready.report()).toEqual({
      status: "ready",
      checks: { database: "ok", temporal: "failed" },
    });
    expect(await ready.isServing()).toBe(true);
    const lacking = open({ checks: { database: { required: true, check: broken } } });
    expect(await lacking.report()).toEqual({ status: "not_ready", checks: { database: "failed" } });
    expect(await lacking.isServing()).toBe(false);
  });

  test("has the reason that a check gives, and nothing of an error", async () => {
    const check = async () => "it is old";
    const { report } = open({
      checks: { database: { required: true, check }, temporal: { required: false, check: broken } },
    });
    expect(await report()).toEqual({
      status: "not_ready",
      checks: { database: "failed", temporal: "failed" },
      reasons: { database: "it is old" },
    });
  });
});

test("a check that does not answer counts as failed and is not started twice", async () => {
  let [hanging, others] = [0, 0];
  const hang = () => {
    hanging += 1;
    return new Promise<null>(() => undefined);
  };
  const count = async () => {
    others += 1;
    return null;
  };
  const checks = {
    database: { required: true, check: hang },
    temporal: { required: false, check: count },
  };
  const { report } = open({ checks, everyMs: 1, checkMs: 5 });
  expect((await report()).checks).toEqual({ database: "failed", temporal: "ok" });
  await expect.poll(() => others).toBeGreaterThan(5);
  expect(hanging).toBe(1);
});

test("each change is reported once, however many checks find the same", async () => {
  let isThere = true;
  let runs = 0;
  const check = async () => {
    runs += 1;
    return isThere ? null : "gone";
  };
  const reported: string[] = [];
  const { subscribe } = open({
    checks: { database: { required: true, check } },
    everyMs: 1,
    onChange: ({ status }) => reported.push(status),
  });
  let heard = 0;
  const unsubscribe = subscribe(() => {
    heard += 1;
  });
  const moreRuns = async () => {
    const before = runs;
    await expect.poll(() => runs).toBeGreaterThan(before + 5);
  };
  await moreRuns();
  isThere = false;
  await moreRuns();
  expect([reported, heard]).toEqual([["ready", "not_ready"], 2]);
  unsubscribe();
  isThere = true;
  await moreRuns();
  expect([reported, heard]).toEqual([["ready", "not_ready", "ready"], 2]);
});

test("a process that drains says so at once and for good", async () => {
  let runs = 0;
  const check = async () => {
    runs += 1;
    return null;
  };
  const { report, subscribe, drain } = open({
    checks: { database: { required: true, check } },
    everyMs: 1,
  });
  expect((await report()).status).toBe("ready");
  const heard: Promise<ReadinessReport>[] = [];
  subscribe(() => heard.push(report()));
  drain();
  expect(heard).toHaveLength(1);
  const before = runs;
  await expect.poll(() => runs).toBeGreaterThan(before + 3);
  expect([await Promise.all(heard), await report()]).toMatchObject([
    [{ status: "stopping" }],
    { status: "stopping" },
  ]);
});
