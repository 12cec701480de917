/**
 * The changes that an operator makes under locks, by the services of the admin API alone: nothing
 * is started in Temporal.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type pg from "pg";
import type { AdminCall } from "../../src/admin/services/dependencies.ts";
import { documentService } from "../../src/admin/services/documents.ts";
import { organisationService } from "../../src/admin/services/organisations.ts";
import { breakOffMethods } from "../../src/admin/services/platform/break-off.ts";
import { usageService } from "../../src/admin/services/usage.ts";
import { RetryDocumentRequestSchema } from "../../src/gen/proto/billing/admin/v1/documents_pb.ts";
import { SetSetupModeRequestSchema } from "../../src/gen/proto/billing/admin/v1/organisations_pb.ts";
import { BreakOffRequestSchema } from "../../src/gen/proto/billing/admin/v1/subscription_break_off_pb.ts";
import { VoidUsageEventRequestSchema } from "../../src/gen/proto/billing/admin/v1/usage_pb.ts";
import { createAdminStore } from "../../src/store/admin/admin-store.ts";
import { createAuditedTenants } from "../../src/store/admin/audited-tenant.ts";
import { type Actor, createChanges } from "../../src/store/admin/changes.ts";
import { createEncryption } from "../../src/store/database/encryption.ts";

/** The outcome of a switch of Setup Mode. `issued`: the documents that were issued meanwhile. */
export interface SwitchOutcome {
  readonly changed: boolean;
  readonly issued: number;
}

/** The changes. Each refuses as its service does. */
export interface OperatorWrites {
  setSetupMode(organisationId: string, setupMode: boolean): Promise<SwitchOutcome>;
  retryDocument(organisationId: string, id: string): Promise<void>;
  voidUsageEvent(organisationId: string, id: string): Promise<void>;
  /** Breaks off the end or amendment under way of a subscription. Returns what is recorded. */
  breakOff(organisationId: string, id: string): Promise<string>;
}

/** Opens the changes over a pool. `performMs` limits the billing before a switch of Setup Mode. */
export function operatorWrites(pool: pg.Pool, performMs?: number): OperatorWrites {
  const encryption = createEncryption(randomBytes(32));
  const open = createAuditedTenants(pool, createChanges(pool), performMs);
  const store = {
    ...createAdminStore({ reading: pool, writing: pool }, encryption),
    tenant: (organisationId: string) => open(organisationId, actor),
  };
  const start = async () => true;
  const parts = {
    store,
    wake: start,
    startBilling: start,
    startAmendment: start,
    startAllocation: start,
    onContradiction: () => undefined,
  };
  const [organisations, documents, usage, breaking] = [
    organisationService(parts),
    documentService(parts),
    usageService(parts),
    breakOffMethods(parts),
  ];
  return {
    setSetupMode: async (id, setupMode) => {
      const before = await countDocuments(pool, id);
      const request = create(SetSetupModeRequestSchema, { id, setupMode });
      const { changed = false } = await organisations.setSetupMode(request, call());
      return { changed, issued: (await countDocuments(pool, id)) - before };
    },
    retryDocument: async (organisation, id) => {
      const request = create(RetryDocumentRequestSchema, { organisation, id });
      await documents.retryDocument(request, call());
    },
    voidUsageEvent: async (organisation, id) => {
      const request = create(VoidUsageEventRequestSchema, { organisation, id, reason: "wrong" });
      await usage.voidUsageEvent(request, call());
    },
    breakOff: async (organisation, id) => {
      const request = create(BreakOffRequestSchema, { organisation, id, reason: "gone" });
      return (await breaking.breakOff(request, call())).breakOff?.message ?? "";
    },
  };
}

/** The database has no operator, so the server's own machine makes the changes. */
const actor: Actor = {
  operatorId: null,
  operatorName: "Test",
  tokenId: null,
  operation: "Test",
  requestId: null,
};

function call(): AdminCall {
  return {
    caller: { operatorId: randomUUID(), name: "Test", role: "owner", tokenId: randomUUID() },
    operation: "Test",
    requestId: randomUUID(),
    idempotencyKey: null,
    signal: new AbortController().signal,
  };
}

async function countDocuments(pool: pg.Pool, organisationId: string): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT ((SELECT count(*) FROM invoices WHERE organisation_id = $1)
      + (SELECT count(*) FROM credit_notes WHERE organisation_id = $1))::int AS count`,
    [organisationId],
  );
  return rows[0]?.count ?? 0;
}
