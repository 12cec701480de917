/**
 * Our apps at ledgers for the admin services: consents, and the end of a connection. The end uses
 * the tokens that all processes share.
 */

import type { LedgerApp } from "../../admin/oauth/consent.ts";
import type { Config } from "../../config.ts";
import { redirectUrlOf } from "../../ledger/ledger-settings.ts";
import { type LedgerKinds, ledgerKindOf } from "../../ledger/port/ledger-kind.ts";
import type { Encryption } from "../../store/database/encryption.ts";
import type { Pool } from "../../store/database/pool.ts";
import { createLedgerTokens } from "../../store/ledger-connection/oauth-tokens.ts";

/** Our apps, by kind of ledger. */
interface LedgerApps {
  readonly byKind: ReadonlyMap<string, LedgerApp>;
  close(): Promise<void>;
}

/**
 * Creates the app of each kind whose credentials are set. `redirectPort` is the port of the
 * callback.
 */
export function createLedgerApps(parts: {
  readonly config: Config;
  readonly kinds: LedgerKinds;
  readonly pool: Pool;
  readonly encryption: Encryption;
  readonly redirectPort: () => number;
}): LedgerApps {
  const { config, kinds, pool, encryption } = parts;
  const { apps, callDeadlineMs } = config.ledger;
  const created = Object.entries(apps).flatMap(([kind, settings]) => {
    const app = ledgerKindOf(kinds, kind).app?.create(settings, callDeadlineMs);
    return app === undefined ? [] : [{ kind, settings, app }];
  });
  const isTls = config.api.tls !== null;
  return {
    byKind: new Map(
      created.map(({ kind, settings, app }) => [
        kind,
        {
          ...app,
          settings,
          redirectUrl: () => redirectUrlOf(kind, settings, isTls, parts.redirectPort()),
          end: (organisationId, connection) =>
            app.end(connection, createLedgerTokens(pool, encryption, organisationId)),
        },
      ]),
    ),
    close: async () => {
      await Promise.all(created.map(({ app }) => app.close()));
    },
  };
}
