/** AuditService: lists the log of every change made through the admin API. ADMIN-2 */
import type { AuditService } from "../../gen/proto/billing/admin/v1/audit_pb.ts";
import { presentAuditEntry } from "../present/present.ts";
import { readInstantOf } from "../present/read-values.ts";
import { type AdminDependencies, type AdminImplementation, pageOf } from "./dependencies.ts";

/** Implements the service. Refuses `invalid_parameter` for a `since` that is no instant. */
export function auditService({
  store,
}: AdminDependencies): AdminImplementation<typeof AuditService> {
  return {
    listAuditEntries: async (request) => {
      const { organisation, operator, target } = request;
      const since = readInstantOf("since", request.since);
      const filters = {
        organisationId: organisation,
        operatorId: operator,
        targetId: target,
        createdAt: since === null ? undefined : { gte: since },
      };
      const { data, hasMore } = await store.listAudit(filters, pageOf(request));
      return { data: data.map(presentAuditEntry), hasMore };
    },
  };
}
