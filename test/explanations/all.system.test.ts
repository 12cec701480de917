/** `--all` as a process over a real service: what it prints, its exit codes, and its patience. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { scenarioTest } from "../scenario/fixtures.ts";
import { addBands } from "../scenario/units-builder.ts";
import { perFile } from "../support/file-fixture.ts";
import { addApiKey } from "../support/organisation-builder.ts";
import { tables } from "../support/rows.ts";

const main = join(import.meta.dirname, "../../packages/verify/src/main.ts");

interface Ran {
  readonly code: number | null;
  readonly out: readonly string[];
  readonly err: string;
}

/** Runs `--all` to its end. */
function runAll(url: string, key: string): Promise<Ran> {
  const env = { ...process.env, BILLING_URL: url, BILLING_API_KEY: key };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [main, "--all"], { env }, (_, out, err) =>
      resolve({ code: child.exitCode, out: out.trimEnd().split("\n"), err }),
    );
  });
}

/**
 * `made` is on 16 April: ten units for a price of 10.00 and a charge, then eleven, which credits
 * 6.00 in a volume plan.
 */
const test = scenarioTest
  .extend("made", perFile, async ({ system, builder }) => {
    const own = await builder.sandbox({ first_invoice_status: "approved" });
    await addBands(system, own);
    await builder.setClock(own, "2026-04-16");
    const charges = [{ charge_code: "onboarding", quantity: 2 }];
    const body = { start_date: "2026-04-01", plan_code: "bands", units: 10, charges };
    const { id } = await builder.subscribe(own, body);
    const half = { prorate: true, effective_date: "2026-04-16" };
    await builder.changed(own, id, { units: 11, ...half });
    await builder.posted(own);
    return own;
  })
  /** A gateway that answers 429 as often as `refuse` asks, else what the service answers. */
  .extend("limiter", perFile, async ({ system }, { onCleanup }) => {
    let [refused, seconds] = [0, 0];
    const server = createServer(async ({ url, headers }, answer) => {
      if (refused > 0) {
        refused -= 1;
        answer.writeHead(429, { "retry-after": `${seconds}` }).end();
        return;
      }
      const { authorization = "" } = headers;
      const from = await fetch(system.baseUrl + url, { headers: { authorization } });
      answer.writeHead(from.status).end(await from.text());
    }).listen(0, "127.0.0.1");
    onCleanup(() => {
      server.close();
    });
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("it has no port");
    return {
      url: `http://127.0.0.1:${address.port}`,
      refuse: (times: number, retryAfter: number) => {
        [refused, seconds] = [times, retryAfter];
      },
    };
  });

const printed = [
  "documents: 2, lines: 3",
  "lines verified: 3, not verified: 0",
  "lines older than explanations: 0",
  "lines with the document's amount: 3",
  "documents whose subtotal is their sum: 2",
  "facts looked up: 12, agreeing: 12",
  "facts not shown by the API: 0",
  "what is wrong: 0",
];

test("all documents are verified and all facts agree, which ends with 0", async ({
  system,
  made,
}) => {
  expect(await runAll(system.baseUrl, made.apiKey)).toEqual({ code: 0, out: printed, err: "" });
});

test("a fact that the API contradicts is named, and ends with 1", async ({ system, made }) => {
  const { organisationId } = made;
  const setUnits = (units: number) =>
    tables(system.pool).unitChange.updateMany({
      where: { organisationId },
      data: { toUnits: units },
    });
  await setUnits(12);
  const { code, out } = await runAll(system.baseUrl, made.apiKey);
  await setUnits(11);
  expect(code).toBe(1);
  expect(out[0]).toMatch(/^CN-0001: line .{36}: to_units is 11, and the API shows 12$/);
  expect(out.slice(1)).toEqual([
    ...printed.slice(0, 5),
    "facts looked up: 12, agreeing: 11",
    "facts not shown by the API: 0",
    "what is wrong: 1",
  ]);
});

test("an answer 429 is waited out by its Retry-After", async ({ limiter, made }) => {
  limiter.refuse(2, 1);
  const began = performance.now();
  expect(await runAll(limiter.url, made.apiKey)).toEqual({ code: 0, out: printed, err: "" });
  expect(performance.now() - began).toBeGreaterThan(1_000);
});

describe("what cannot be read ends with 2 and says why", () => {
  test("a key that is not known", async ({ system }) => {
    const { code, err } = await runAll(system.baseUrl, "unknown");
    expect([code, err]).toEqual([2, `${system.baseUrl} does not know the API key (401)\n`]);
  });

  test("a key without the scopes", async ({ system, made }) => {
    const { value } = await addApiKey(system.pool, made.organisationId, ["invoices:read"], {
      livemode: false,
    });
    const { code, err } = await runAll(system.baseUrl, value);
    expect([code, err]).toEqual([
      2,
      "the API key may not read /v1/credit_notes?limit=100 (403): it needs catalogue:read, " +
        "subscriptions:read, invoices:read and credit_notes:read\n",
    ]);
  });

  test("a URL that is not the API's", async ({ system, made }) => {
    const { code, err } = await runAll(`${system.baseUrl}/other`, made.apiKey);
    expect(code).toBe(2);
    expect(err).toMatch(/^\/v1\/\w+ was not found \(404\): the URL is not that of the API\n$/);
  });

  test("a server that is not there", async ({ made }) => {
    const { code, err } = await runAll("http://127.0.0.1:1", made.apiKey);
    expect(code).toBe(2);
    expect(err).toMatch(/^http:\/\/127\.0\.0\.1:1 cannot be reached: /);
  });

  test("a limit that does not end", async ({ limiter, made }) => {
    limiter.refuse(Number.POSITIVE_INFINITY, 0);
    const { code, err } = await runAll(limiter.url, made.apiKey);
    expect(code).toBe(2);
    expect(err).toMatch(/^\/v1\/\w+\?limit=100 answered 429 too often/);
  });
});
