/** Warns of addresses with too many connections. */
import type { Log } from "../telemetry/log.ts";

/** The least time between two warnings about addresses with too many connections. */
const connectionWarningMs = 60_000;

/**
 * Logs the limit: a proxy that TRUSTED_PROXIES does not list would otherwise be limited silently.
 */
export function warnOfConnections(log: Log): (address: string) => void {
  let quietUntilMs = 0;
  return (address) => {
    if (performance.now() < quietUntilMs) return;
    quietUntilMs = performance.now() + connectionWarningMs;
    log.warn(
      { address },
      "an address holds too many connections; name it in TRUSTED_PROXIES if it is a proxy",
    );
  };
}
