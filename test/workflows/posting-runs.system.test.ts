/**
 * The ledger workflow in the real service: group commit, and the histories of a plain posting, a
 * refusal, a pause and of many documents, which must replay. With RECORD_HISTORIES set they are
 * stored in `test/histories` for `replay.test.ts`.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { ledgerWorkflowId } from "../../workflows/contract.ts";
import {
  createSynced,
  expectOneDocumentEach,
  expectPosted,
  shownInvoice,
  subscriptionPost,
  untilPosted,
} from "../faults/ledger-documents.ts";
import { postUntilCreated } from "../faults/processes.ts";
import { reusedSystemTest as test } from "../support/fixtures.ts";
import { addReadyDocuments } from "../support/ready-documents.ts";
import type { TestSystem } from "../support/system.ts";
import { expectReplayable } from "./recorded-history.ts";

/** The writes that the ledger was sent for an organisation: it remembers the key of each. */
async function ledgerWrites(
  system: TestSystem,
  { tenantId }: CreatedOrganisation,
): Promise<number> {
  const { rows } = await system.pool.query(
    "SELECT count(*)::int AS writes FROM demo_ledger.idempotency WHERE client_id = $1",
    [`demo-${tenantId}`],
  );
  return rows[0].writes;
}

describe.concurrent("the organisation's posting workflow", () => {
  test("posts a hundred creations in far fewer than a hundred calls", async ({ system }) => {
    const organisation = await system.organisation();
    const before = await ledgerWrites(system, organisation);
    // Slow enough for many to come during a call, even on a slow machine.
    const slow = {
      kind: "slow_before",
      match: "PUT /api.xro/2.0/Invoices",
      delayMs: 1_000,
      times: 1_000,
    };
    await system.fault({ ...slow, tenantId: organisation.tenantId });
    const began = performance.now();
    const posts = Array.from({ length: 100 }, (_, index) =>
      subscriptionPost(organisation, `key-${index}`),
    );
    await Promise.all(posts.map((what) => createSynced(system, what)));
    await expectOneDocumentEach(system, organisation, 100);
    // A machine that takes long for them sends them in as many more calls as it has time for.
    const seconds = (performance.now() - began) / 1_000;
    const calls = (await ledgerWrites(system, organisation)) - before;
    expect(calls).toBeLessThanOrEqual(Math.max(40, seconds));
  });

  test("posts documents in sequence in one run, and its history replays", async ({
    system,
    client,
  }) => {
    const organisation = await system.organisation();
    for (const name of ["first", "second"]) {
      const created = await postUntilCreated(system.baseUrl, subscriptionPost(organisation, name));
      await expectPosted(system, organisation, created);
    }
    await expectReplayable(client, ledgerWorkflowId(organisation.organisationId), "posting");
  });

  test("continues after a refusal, and its history replays", async ({ system, client }) => {
    const organisation = await system.organisation();
    const refusal = { kind: "refuse", match: "PUT /api.xro/2.0/Invoices", element: "INV-0001" };
    await system.fault({
      ...refusal,
      tenantId: organisation.tenantId,
      messages: ["The lock date has passed."],
    });
    const [refused, taken] = [
      await postUntilCreated(system.baseUrl, subscriptionPost(organisation, "first")),
      await postUntilCreated(system.baseUrl, subscriptionPost(organisation, "second")),
    ];
    const ledger = { sync_status: "failed", sync_error: "The lock date has passed." };
    await expectPosted(system, organisation, taken);
    expect(await shownInvoice(system, organisation, refused)).toMatchObject({
      status: "not_in_external",
      ledger,
    });
    await expectReplayable(client, ledgerWorkflowId(organisation.organisationId), "refusal");
  });

  test("posts many documents at a slow ledger in concurrent batches, and replays", async ({
    system,
    client,
  }) => {
    const organisation = await system.organisation();
    const slow = {
      kind: "slow_before",
      match: "PUT /api.xro/2.0/Invoices",
      delayMs: 1_200,
      times: 1_000,
    };
    await system.fault({ ...slow, tenantId: organisation.tenantId });
    await addReadyDocuments(system.pool, organisation, 250);
    await untilPosted(system, organisation.organisationId);
    await expectReplayable(client, ledgerWorkflowId(organisation.organisationId), "high-volume");
    expect(await system.ledgerInvoices(organisation.tenantId)).toHaveLength(250);
  });

  test("waits for a limit of the ledger, and its history replays", async ({ system, client }) => {
    const organisation = await system.organisation();
    const limit = { kind: "rate_limit", match: "PUT /api.xro/2.0/Invoices", retryAfterSeconds: 2 };
    await system.fault({ ...limit, tenantId: organisation.tenantId });
    const created = await postUntilCreated(system.baseUrl, subscriptionPost(organisation, "first"));
    await expectPosted(system, organisation, created);
    await expectReplayable(client, ledgerWorkflowId(organisation.organisationId), "pause");
  });
});
