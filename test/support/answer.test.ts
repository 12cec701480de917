/** Answers of a slow machine, and of a service that does not wait, as tests see them. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { askUntilPosted } from "./answer.ts";

const id = "7b2f1c52-4f0e-4a56-9d0b-0f1c7f1f3a11";
const invoice = { object: "invoice", id, status: "scheduled", ledger: { sync_status: "failed" } };
const posted = { ...invoice, status: "draft", ledger: { sync_status: "synced" } };

let server: Server;
let baseUrl: string;
let reads: number;

beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.method === "GET") reads += 1;
    const body =
      request.method === "POST" ? { change: { units: 3, invoice } } : reads < 3 ? invoice : posted;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => server.close());

test("an answer that used up its time has its documents once they are posted", async () => {
  reads = 0;
  const answer = await askUntilPosted(baseUrl, "POST", "/v1/subscriptions/1/units", {}, 0);
  expect(answer.json).toEqual({ change: { units: 3, invoice: posted } });
  expect(answer.text).toContain('"scheduled"');
});

test("a prompt answer stays as it is, so that a service that does not wait is found", async () => {
  reads = 0;
  const answer = await askUntilPosted(baseUrl, "POST", "/v1/subscriptions/1/units", {});
  expect([answer.json, reads]).toEqual([{ change: { units: 3, invoice } }, 0]);
});
