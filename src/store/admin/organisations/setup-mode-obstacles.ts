/**
 * Finds the work that blocks a switch of Setup Mode: work that was decided in the current mode and
 * is not done yet. Previews the switch by the same reads. SQL, because several kinds of work are
 * counted and listed together. SETUP-4, ADMIN-22.
 */
import {
  requireNothingInTheWay,
  type SwitchObstacle,
  type SwitchObstacles,
} from "../../../domain/billing/setup-mode.ts";
import { countDue } from "../../billing/due-organisations.ts";
import { isId } from "../../database/ids.ts";
import { inSnapshot, type Pool, type Transaction } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { int, text } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";
import { stateOf } from "../previewed-state.ts";

/** As many as a person can handle at once. SETUP-4. */
const namedAtMost = 10;

/** What blocks each switch: while Setup Mode is on, nothing new reaches the ledger. SETUP-1. */
const blocking = {
  off: ["end_subscription", "amend_invoice"],
  on: [
    "end_subscription",
    "amend_invoice",
    "create_invoice",
    "create_credit_note",
    "allocate_credit",
  ],
} as const;

const findObstacles = query({
  name: "find_setup_mode_obstacles",
  planned: "each time",
  text: sql`
    SELECT kind, name, (count(*) OVER ())::int AS total
    FROM
      (
        SELECT 'parked' AS kind, 'subscription ' || s.id AS name
        FROM
          subscriptions s
          JOIN organisations o ON o.id = s.organisation_id
        WHERE
          o.id = $1
          AND s.due_at <= coalesce(o.test_clock, clock_timestamp())
          AND s.parked_until > now()
        UNION ALL
        SELECT
          CASE o.kind
            WHEN 'end_subscription' THEN 'ended'
            WHEN 'amend_invoice' THEN 'amended'
            WHEN 'allocate_credit' THEN 'credited'
            ELSE 'unsent'
          END,
          CASE
            WHEN o.kind = 'end_subscription' THEN 'subscription ' || o.subscription_id
            WHEN n.id IS NOT NULL THEN 'credit note ' || n.number
            ELSE 'invoice ' || i.number
          END
        FROM
          ledger_jobs o
          LEFT JOIN invoices i ON i.organisation_id = o.organisation_id AND i.id = o.invoice_id
          LEFT JOIN credit_notes n
            ON n.organisation_id = o.organisation_id AND n.id = o.credit_note_id
        WHERE
          o.organisation_id = $1
          AND o.state IN ('ready', 'sending', 'uncertain')
          AND o.kind = ANY ($3)
      ) obstacles
    ORDER BY kind, name
    LIMIT $2
  `,
  row: { kind: text.as<SwitchObstacle["kind"]>(), name: text, total: int },
});

/**
 * Returns up to ten obstacles to the switch on or off, and the number of all. The caller has locked
 * the organisation. Every transaction that starts such work, or parks a subscription, shares that
 * lock and waits. Only the plan of an allocation does not: one that commits at this very moment may
 * still be carried out, as if the switch came after it.
 */
export async function loadObstacles(
  tx: Transaction,
  organisationId: string,
  to: keyof typeof blocking,
): Promise<SwitchObstacles> {
  const rows = await findObstacles(tx, organisationId, namedAtMost, blocking[to]);
  return { named: rows, total: rows[0]?.total ?? 0 };
}

/** What a switch would do. `due`: subscriptions for which something is billed before it. */
export interface PreviewedSwitch {
  readonly changed: boolean;
  readonly due: number;
  readonly previewedState: string;
}

/** Returns the previewed state of a switch. */
export function setupModeState({ setupMode }: { readonly setupMode: boolean }): string {
  return stateOf([setupMode]);
}

/**
 * Previews a switch. Null if there is no such organisation. Refuses `invalid_state` while work
 * under way blocks it.
 */
export async function previewSetupMode(
  pool: Pool,
  id: string,
  setupMode: boolean,
): Promise<PreviewedSwitch | null> {
  if (!isId(id)) return null;
  return inSnapshot(pool, async (client) => {
    const found = await db(client).organisation.findFirst({ where: { id } });
    if (found === null) return null;
    const previewedState = setupModeState(found);
    if (found.setupMode === setupMode) return { changed: false, due: 0, previewedState };
    requireNothingInTheWay(await loadObstacles(client, id, setupMode ? "on" : "off"));
    return { changed: true, due: (await countDue(client, id)).due, previewedState };
  });
}
