/**
 * Counts the bytes of request bodies that have not arrived whole, in all and by key (LIMIT-4). A
 * client with a key may send all of a body but its last byte, and leave it in memory here.
 */
import type { Exchange } from "../../rest/exchange.ts";
import type { HttpLimits } from "./limits.ts";

/**
 * Creates the counts of a port. Returns a function that returns, for each request, the function
 * that records what its body holds. A body without a key is not counted, because none is read.
 */
export function countUnfinishedBodies({
  bodyBytes,
  bodyBytesPerKey,
  uncountedBodyBytes,
}: Pick<
  HttpLimits,
  "bodyBytes" | "bodyBytesPerKey" | "uncountedBodyBytes"
>): () => Exchange["holdBody"] {
  const byKey = new Map<string, number>();
  let all = 0;
  return () => {
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
  };
}
