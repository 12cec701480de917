/**
 * An organisation whose calls all wait for its ledger is refused more of them, and no other one is.
 * No worker runs, so the ledger decides nothing.
 */
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect } from "vitest";
import { OrganisationService } from "../../../src/gen/proto/billing/v1/organisation_pb.ts";
import { publicCallLimits } from "../../../src/transport/rpc/call-limit.ts";
import type { Answered } from "../../support/answer.ts";
import { perFile } from "../../support/file-fixture.ts";
import { systemTest } from "../../support/fixtures.ts";
import { until } from "../../support/system.ts";

const test = systemTest.extend("settings", perFile, { without: ["worker"] });

const { maxOfCaller } = publicCallLimits;

/** More than the limit, so that some are refused while the others wait. */
const refusedCalls = 5;

test("an organisation's calls that wait for its ledger refuse its next ones alone", async ({
  system,
}) => {
  const [busy, other] = [await system.organisation(), await system.organisation()];
  const early: Answered[] = [];
  const creations = Array.from({ length: maxOfCaller + refusedCalls }, async (_, index) => {
    const body = { code: `C${index}`, name: `Customer ${index}`, email: `c${index}@example.com` };
    const answer = await system.ask("POST", "/v1/customers", { key: busy.apiKey, body });
    early.push(answer);
    return answer;
  });
  await until("those over the limit are answered", async () => early.length === refusedCalls);
  const organisation = (key: string) => system.ask("GET", "/v1/organisation", { key });
  const connect = (key: string) =>
    system.ask("POST", "/billing.v1.OrganisationService/GetOrganisation", { key, body: {} });
  const grpc = createClient(OrganisationService, createGrpcTransport({ baseUrl: system.baseUrl }));
  const withKey = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });

  early.push(await organisation(busy.apiKey));
  for (const { status, headers, json } of early) {
    expect([status, json.error.code]).toEqual([502, "temporarily_unavailable"]);
    expect(json.error.message).toBe(publicCallLimits.tooBusyText);
    expect(headers.get("retry-after")).toBe("1");
  }
  expect((await connect(busy.apiKey)).headers.get("retry-after")).toBe("1");
  await expect(grpc.getOrganisation({}, withKey(busy.apiKey))).rejects.toThrow(
    publicCallLimits.tooBusyText,
  );

  expect((await organisation(other.apiKey)).status).toBe(200);
  expect((await connect(other.apiKey)).status).toBe(200);
  const answer = await grpc.getOrganisation({}, withKey(other.apiKey));
  expect(answer.organisation?.name).toBe("Northwind");
  // The probes are not counted.
  expect((await system.ask("GET", "/healthz")).status).toBe(200);

  await system.worker.start();
  await Promise.all(creations);
  expect((await organisation(busy.apiKey)).status).toBe(200);
});
