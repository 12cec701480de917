/** Lists the audit log. Only `changes.ts` writes it. ADMIN-2. */
import type { AuditEntry } from "../../gen/prisma/client.ts";
import type { Page, PageRequest } from "../database/page.ts";
import type { Pool } from "../database/pool.ts";
import { dbOfAll, withoutUndefined } from "../database/prisma/client.ts";
import { pageBySeq } from "./page-by-seq.ts";

/** An entry: who, when, what, and the object before and after. */
export type AuditRecord = Omit<AuditEntry, "seq">;

/** The filters of the list. An undefined filter is not applied. */
interface AuditFilters {
  readonly organisationId?: string | undefined;
  readonly operatorId?: string | undefined;
  readonly targetId?: string | undefined;
  readonly createdAt?: { readonly gte: Date } | undefined;
}

/** Lists entries, newest first. */
export function listAudit(
  pool: Pool,
  filters: AuditFilters,
  page: PageRequest,
): Promise<Page<AuditRecord>> {
  // The position may be any entry, also one that the filters leave out.
  return pageBySeq(page, ({ where, ...query }) =>
    dbOfAll(pool).auditEntry.findMany({
      where: "id" in where ? where : { ...withoutUndefined(filters), ...where },
      ...query,
    }),
  );
}
