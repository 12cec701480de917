/** The views of the console's lists that an operator saved. ADMIN-23 */
import { Refusal } from "../../../domain/refusal.ts";
import type { SavedView } from "../../../gen/prisma/client.ts";
import { isId, newId } from "../../database/ids.ts";
import { lockOperator } from "../../database/lock-order.ts";
import type { Pool } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { type Actor, type Change, type Changes, changed } from "../changes.ts";

/** Whose views they are, and of which organisation. */
type Owner = Pick<SavedView, "operatorId" | "organisationId">;

/** A list that nobody reads through is no help, and an answer has all of them. */
const maxViews = 50;

/** Creates the store over changes. */
export function createSavedViewStore(pool: Pool, { run }: Changes) {
  return {
    /** Lists the views of an operator, by name. */
    list: (owner: Owner) => db(pool).savedView.findMany({ where: owner, orderBy: { name: "asc" } }),
    /** Saves a view, in place of the one that has its page and name. Refuses `invalid_state`. */
    save: (actor: Actor, view: Omit<SavedView, "id">) =>
      run(actor, async (tx) => {
        const { operatorId, organisationId, page, name } = view;
        await lockOperator(tx, operatorId);
        const before = await db(tx).savedView.findFirst({
          where: { operatorId, organisationId, page, name },
        });
        if (before !== null) {
          const after = { ...before, search: view.search };
          if (before.search === view.search) return changed(after);
          await db(tx).savedView.updateMany({
            where: { organisationId, id: before.id },
            data: view,
          });
          return changed(after, changeOf(before, after));
        }
        const count = await db(tx).savedView.count({ where: { operatorId, organisationId } });
        if (count >= maxViews) {
          const message = `You have ${maxViews} views of this organisation. Delete one first.`;
          throw new Refusal("invalid_state", message);
        }
        const after = await db(tx).savedView.create({ data: { ...view, id: newId() } });
        return changed(after, changeOf(null, after));
      }),
    /** Deletes a view. Returns whether there was one. */
    delete: async (actor: Actor, owner: Owner, id: string) =>
      isId(id) &&
      run(actor, async (tx) => {
        const before = await db(tx).savedView.findFirst({ where: { ...owner, id } });
        if (before === null) return changed(false);
        await db(tx).savedView.deleteMany({ where: { ...owner, id } });
        return changed(true, changeOf(before, null));
      }),
  };
}

/** Without the filters: they can have a name or an e-mail address, which an erasure deletes. */
function changeOf(before: SavedView | null, after: SavedView | null): Change {
  const logged = (view: SavedView | null) => view && { page: view.page, name: view.name };
  const { id: targetId = "", organisationId = null } = after ?? before ?? {};
  return {
    targetKind: "saved_view",
    targetId,
    organisationId,
    before: logged(before),
    after: logged(after),
  };
}
