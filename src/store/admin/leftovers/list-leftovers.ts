/**
 * Lists what faults of earlier versions left of an organisation's money. Each row is gone once it
 * is put right. SQL: four kinds of facts are found and paged together. The fifth is priced by the
 * domain. ADMIN-16.
 */
import { Refusal } from "../../../domain/refusal.ts";
import { isId } from "../../database/ids.ts";
import type { Page, PageRequest } from "../../database/page.ts";
import { arrayOf, numeric, type RowOf, text, uuid } from "../../database/sql/columns.ts";
import { joinSql, sql } from "../../database/sql/sql.ts";
import { type Executor, query } from "../../database/sql/statement.ts";
import { removedStands, setupModeUsage, unbilled, withoutCounterpart } from "./leftover-kinds.ts";
import { findUnbilledIncreases } from "./unbilled-increases.ts";

/**
 * `unbilled_amendment`: the ledger refused an amendment, units are moved, and nothing bills them.
 * `end_without_counterpart`: an end credited or charged back what the ledger does not have.
 * `removed_stands`: an end removed an invoice that the ledger then lost, so that it counted
 * again. `setup_mode_usage`: usage of a period that began in Setup Mode was billed.
 * `unbilled_increase`: units rose after a person had removed the next period's invoice, and nothing
 * bills the increase in that period.
 */
export type LeftoverKind =
  | "unbilled_amendment"
  | "end_without_counterpart"
  | "removed_stands"
  | "setup_mode_usage"
  | "unbilled_increase";

/** `objectId` is that of its invoice, line or subscription. */
const leftoverRow = {
  id: text,
  kind: text.as<LeftoverKind>(),
  objectId: uuid,
  subscriptionId: uuid,
  /** The numbers of its documents, the wrong one first. */
  numbers: arrayOf(text),
  /** What the customer is billed too little, or too much if it is negative. */
  amount: numeric,
  currency: text,
};

/** A leftover. */
export type Leftover = RowOf<typeof leftoverRow>;

const leftovers = sql`
  SELECT
    t.kind || '.' || t.object_id AS id,
    t.kind, t.object_id, t.subscription_id, t.numbers,
    t.amount::numeric(20, 4) AS amount,
    t.currency
  FROM (${joinSql([unbilled, withoutCounterpart, removedStands, setupModeUsage], " UNION ALL ")}) t
`;

const listAll = query({
  name: "list_leftovers",
  planned: "each time",
  text: sql`
    SELECT *
    FROM (${leftovers}) l
    WHERE $2::text IS NULL OR l.id > $2 COLLATE "C"
    ORDER BY l.id COLLATE "C"
    LIMIT $3
  `,
  row: leftoverRow,
});

const findOne = query({
  name: "find_leftover",
  planned: "each time",
  text: sql`${leftovers} WHERE t.kind = $2 AND t.object_id = $3::uuid`,
  row: leftoverRow,
});

/**
 * Returns a page, ordered by id. Refuses `invalid_parameter`, param `starting_after`, for text that
 * is no id of a leftover. One that is put right by now is a position like any other.
 */
export async function listLeftovers(
  executor: Executor,
  organisationId: string,
  { limit, startingAfter }: PageRequest,
): Promise<Page<Leftover>> {
  if (startingAfter !== null && readLeftoverId(startingAfter) === null) {
    const message = "starting_after is not the id of a leftover.";
    throw new Refusal("invalid_parameter", message, "starting_after");
  }
  const found = await listAll(executor, organisationId, startingAfter, limit + 1);
  const increases = (await findUnbilledIncreases(executor, organisationId))
    .map(({ leftover }) => leftover)
    .filter(({ id }) => startingAfter === null || id > startingAfter);
  const rows = [...found, ...increases].sort((left, right) => (left.id < right.id ? -1 : 1));
  return { data: rows.slice(0, limit), hasMore: rows.length > limit };
}

/** Finds a leftover. Null if there is none with this id, or none any more. */
export async function findLeftover(
  executor: Executor,
  organisationId: string,
  id: string,
): Promise<Leftover | null> {
  const known = readLeftoverId(id);
  if (known === null) return null;
  if (known.kind === "unbilled_increase") {
    const increases = await findUnbilledIncreases(executor, organisationId);
    return increases.find(({ leftover }) => leftover.id === id)?.leftover ?? null;
  }
  const [leftover] = await findOne(executor, organisationId, known.kind, known.objectId);
  return leftover ?? null;
}

function readLeftoverId(id: string): { readonly kind: string; readonly objectId: string } | null {
  const [kind = "", objectId = "", ...rest] = id.split(".");
  return rest.length === 0 && isId(objectId) ? { kind, objectId } : null;
}
