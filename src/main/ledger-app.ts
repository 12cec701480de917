/**
 * Our app at the ledger for the admin services: consents, and the end of a connection. The end uses
 * the tokens that all processes share.
 */

import type { LedgerApp } from "../admin/oauth/consent.ts";
import type { Config } from "../config.ts";
import type { LedgerAnswer } from "../ledger/port/ledger.ts";
import { createXeroApp } from "../ledger/xero/auth/app.ts";
import { redirectUrlOf } from "../ledger/xero/auth/app-settings.ts";
import { createSharedTokenSource } from "../ledger/xero/auth/authorised-tokens.ts";
import { createAgent } from "../ledger/xero/wire/exchange.ts";
import type { Encryption } from "../store/database/encryption.ts";
import type { Pool } from "../store/database/pool.ts";
import { createLedgerTokens } from "../store/ledger-connection/oauth-tokens.ts";

/**
 * Returns the app over a pool, or null if its credentials are not set. `redirectPort` is the port
 * of the callback.
 */
export function createLedgerApp(parts: {
  readonly config: Config;
  readonly pool: Pool;
  readonly encryption: Encryption;
  readonly redirectPort: () => number;
}): (LedgerApp & { readonly close: () => Promise<void> }) | null {
  const { config, pool, encryption } = parts;
  const { xeroApp: settings, callDeadlineMs } = config.ledger;
  if (settings === null) return null;
  const app = createXeroApp(settings, callDeadlineMs);
  const agent = createAgent({});
  return {
    ...app,
    redirectUrl: () => redirectUrlOf(settings, config.api.tls !== null, parts.redirectPort()),
    end: async (organisationId, { clientId, ledgerConnection }) => {
      const keeper = createLedgerTokens(pool, encryption, organisationId);
      // Tokens of another app do not work with these credentials: the ledger would call them
      // invalid, and the tokens would be deleted here.
      const tokens = createSharedTokenSource(agent, {
        app: settings.clientId === clientId ? settings : null,
        keeper,
      });
      const ask = async (
        rejected: string | null,
      ): Promise<readonly [string, LedgerAnswer<"ended" | "ended_before">]> => {
        const token = await tokens.token(rejected, AbortSignal.timeout(2 * callDeadlineMs));
        if (token.kind === "ok") {
          const answer = await app.end(token.value, ledgerConnection);
          return [token.value, answer.kind === "ok" ? { kind: "ok", value: "ended" } : answer];
        }
        // Only the refusal `invalid_grant` deletes the tokens.
        const isEnded = token.kind === "unauthorised" && (await keeper.read()) === null;
        return ["", isEnded ? { kind: "ok", value: "ended_before" } : token];
      };
      const [used, answer] = await ask(null);
      const isStale = answer.kind === "unauthorised" && answer.why === "expired" && used !== "";
      return isStale ? (await ask(used))[1] : answer;
    },
    close: async () => {
      await Promise.all([app.close(), agent.close()]);
    },
  };
}
