/** Lists the audit log. Only `changes.ts` writes it. ADMIN-2. */
import type { AuditEntry } from "../../gen/prisma/client.ts";
import type { Page, PageRequest } from "../database/page.ts";
import type { Changes } from "./changes.ts";
import { given } from "./organisations.ts";
import { pageBySeq } from "./page-by-seq.ts";

/** An entry: who, when, what, and the object before and after. */
export type AuditRecord = Omit<AuditEntry, "seq">;

/** The filters of the list. An undefined filter is not applied. */
export interface AuditFilters {
  readonly organisationId?: string | undefined;
  readonly operatorId?: string | undefined;
  readonly targetId?: string | undefined;
}

/** Lists entries, newest first. */
export interface AuditStore {
  list(filters: AuditFilters, page: PageRequest): Promise<Page<AuditRecord>>;
}

/** Creates the audit store over the database. */
export function createAuditStore({ prisma }: Changes): AuditStore {
  return {
    list: (filters, page) =>
      pageBySeq(page, {
        seqOf: (id) => prisma.auditEntry.findUnique({ where: { id }, select: { seq: true } }),
        below: (seq, take) =>
          prisma.auditEntry.findMany({
            where: given({ ...filters, seq }),
            orderBy: { seq: "desc" },
            take,
          }),
      }),
  };
}
