/** Previews a switch of Setup Mode in a snapshot, by what the switch itself reads. ADMIN-22. */
import { requireNothingInTheWay } from "../../../domain/billing/setup-mode.ts";
import { countDue } from "../../billing/due-organisations.ts";
import { isId } from "../../database/ids.ts";
import type { Pool } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { inSnapshot } from "../../database/snapshot.ts";
import { stateOf } from "../previewed-state.ts";
import { loadObstacles } from "./setup-mode-obstacles.ts";

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
