/**
 * Records the outcomes of a leased termination. Each outcome is one transaction. The last one
 * notifies waiting callers.
 */
import type { EndWhen } from "../../domain/subscriptions/end.ts";
import type { Pool } from "../database/pool.ts";
import type {
  LeasedRemoval,
  LeasedTermination,
  LeftBecause,
  RemovalRefused,
  Removed,
  ReportedInvoice,
} from "./end-lease.ts";
import { saveRefused } from "./end-rejected.ts";
import { finishTermination } from "./finish-termination.ts";
import { dropInvoice, saveLeft, saveRemoved } from "./removal-outcomes.ts";

/**
 * Records outcomes for one organisation's terminations. If another attempt holds the lease by now,
 * nothing is written and the result is false or null.
 */
export interface RecordTermination {
  /**
   * The invoice was removed. After a renewal invoice, other documents' lines for its period are
   * reversed (END-7). `issued`: a document must be posted because of that.
   */
  removed(leased: LeasedRemoval, removed: Removed): Promise<{ readonly issued: boolean } | null>;
  /**
   * Abandons an invoice that the ledger does not have. The result is that of `removed`, or null if
   * sending it has begun.
   */
  drop(leased: LeasedRemoval): Promise<{ readonly issued: boolean } | null>;
  /**
   * Leaves an invoice that an option requested to remove, with its state in `invoice`. The end
   * continues.
   */
  leave(leased: LeasedRemoval, because: LeftBecause, invoice: ReportedInvoice): Promise<boolean>;
  /**
   * The ledger refused. The remaining invoices stay, and the subscription continues (END-4).
   * `issued`: a removed invoice of the period that it continues into is reissued and must be
   * posted.
   */
  refuse(
    leased: LeasedRemoval,
    refused: RemovalRefused,
  ): Promise<{ readonly issued: boolean } | null>;
  /**
   * The subscription ends or is set to end. It is refused if the usage since the end began costs
   * more than can be billed. `issued`: an invoice must be posted, of outstanding charges or of the
   * period that it continues into.
   */
  finish(leased: LeasedTermination, when: EndWhen): Promise<{ readonly issued: boolean } | null>;
}

/** Binds the outcomes to a pool and an organisation. */
export function createRecordTermination(pool: Pool, organisationId: string): RecordTermination {
  return {
    removed: (leased, removed) => saveRemoved(pool, organisationId, leased, removed),
    drop: (leased) => dropInvoice(pool, organisationId, leased),
    leave: (leased, because, invoice) => saveLeft(pool, organisationId, leased, because, invoice),
    refuse: (leased, refused) => saveRefused(pool, organisationId, leased, refused),
    finish: (leased, when) => finishTermination(pool, organisationId, leased, when),
  };
}
