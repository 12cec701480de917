/**
 * Decides whether a document of the ledger without a link to us has the contact of ours. Equal
 * content is no proof: after a restore the ledger may have another customer's document under a
 * number that was reserved again. POSTING-9
 */
import type { LedgerAnswer, LedgerContact, LedgerFound } from "../../../ledger/port/ledger.ts";

/** The contact that a document was to have, and the one that the ledger shows. */
export interface ContactPair {
  readonly wanted: string;
  readonly found: string;
}

/** Merges one after the other. A longer chain counts as another contact. */
const maxMerges = 5;

/**
 * Returns the pairs whose wanted contact was merged into the found one. Calls the ledger only if a
 * pair differs.
 */
export async function findMerged(
  pairs: readonly ContactPair[],
  read: (ids: readonly string[]) => Promise<LedgerAnswer<LedgerFound<LedgerContact>>>,
): Promise<LedgerAnswer<(pair: ContactPair) => boolean>> {
  const differing = pairs.filter(({ wanted, found }) => wanted !== found);
  const mergedInto = new Map<string, string>();
  let ids = [...new Set(differing.map(({ wanted }) => wanted))];
  for (let hop = 0; hop < maxMerges && ids.length > 0; hop += 1) {
    const answer = await read(ids);
    if (answer.kind !== "ok") return answer;
    const merges = answer.value.found.flatMap(({ id, mergedInto: into }) =>
      into === null ? [] : [{ id, into }],
    );
    for (const { id, into } of merges) mergedInto.set(id, into);
    ids = [...new Set(merges.map(({ into }) => into))].filter((id) => !mergedInto.has(id));
  }
  const isSame = ({ wanted, found }: ContactPair): boolean => {
    let id: string | undefined = wanted;
    for (let hop = 0; hop <= maxMerges && id !== undefined; hop += 1) {
      if (id === found) return true;
      id = mergedInto.get(id);
    }
    return false;
  };
  return { kind: "ok", value: isSame };
}
