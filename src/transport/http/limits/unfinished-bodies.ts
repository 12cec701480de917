/**
 * Counts the bytes of request bodies that have not arrived whole, in all and by key (LIMIT-4). A
 * client with a key may send all of a body but its last byte, and leave it in memory here.
 */
import type { Exchange } from "../../rest/exchange.ts";
import type { HttpLimits } from "./limits.ts";

/** The counts of one port. */
export interface UnfinishedBodies {
  /** Returns the function that records what the body of one request holds. */
  open(): Exchange["holdBody"];
}

/** Creates the counts. A body without a key is not counted, because none is read. */
export function countUnfinishedBodies({
  bodyBytes,
  bodyBytesPerKey,
  uncountedBodyBytes,
}: Pick<HttpLimits, "bodyBytes" | "bodyBytesPerKey" | "uncountedBodyBytes">): UnfinishedBodies {
  const byKey = new Map<string, number>();
  let all = 0;
  return {
    open: () => {
      let held = 0;
      return (apiKeyId, bytes) => {
        const counted = bytes > uncountedBodyBytes ? bytes : 0;
        if (counted === held || apiKeyId === null) return true;
        const more = counted - held;
        const ofKey = (byKey.get(apiKeyId) ?? 0) + more;
        if (more > 0 && (ofKey > bodyBytesPerKey || all + more > bodyBytes)) return false;
        held = counted;
        all += more;
        if (ofKey === 0) byKey.delete(apiKeyId);
        else byKey.set(apiKeyId, ofKey);
        return true;
      };
    },
  };
}
