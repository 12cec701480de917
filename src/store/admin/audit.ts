/** The audit log as it is listed. It is written by `changes.ts` alone. */
import type { AuditEntry } from "../../gen/prisma/client.ts";
import type { Page, PageRequest } from "../database/page.ts";
import type { Changes } from "./changes.ts";
import { given } from "./organisations.ts";
import { pageBySeq } from "./page-by-seq.ts";

/** An entry: who, when, what, and what it was before and after. */
export type AuditRecord = Omit<AuditEntry, "seq">;

/** The filters of the list; undefined is not asked for. */
export interface AuditFilters {
  readonly organisationId?: string | undefined;
  readonly operatorId?: string | undefined;
  readonly targetId?: string | undefined;
}

/** Lists entries, newest first. */
export interface AuditStore {
  list(filters: AuditFilters, page: PageRequest): Promise<Page<AuditRecord>>;
}

/** The log over the database. */
export function createAuditStore({ prisma }: Changes): AuditStore {
  return {
    list: (filters, page) =>
      pageBySeq(page, {
        seqOf: (id) => prisma.auditEntry.findUnique({ where: { id }, select: { seq: true } }),
        below: (seq, take) =>
          prisma.auditEntry.findMany({ where: given({ ...filters, seq }), orderBy: { seq: "desc" }, take }),
      }),
  };
}
