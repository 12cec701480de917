/** The public endpoints for ledgers' webhooks: one for each kind whose signing key is set. */
import type { Config } from "../../config.ts";
import { settingOf } from "../../ledger/ledger-settings.ts";
import type { LedgerKinds } from "../../ledger/port/ledger-kind.ts";
import type { Pool } from "../../store/database/pool.ts";
import { recordNotifications } from "../../store/ledger-sync/record-notifications.ts";
import { ledgerWebhookAnswer, ledgerWebhookPathOf } from "../../transport/http/ledger-webhooks.ts";
import { clientAddresses } from "../../transport/http/limits/client-addresses.ts";
import type { HttpAnswer } from "../../transport/http/system-endpoints.ts";

/** Returns the endpoints by path. `wake` starts the ledger sync of an organisation. */
export function ledgerWebhookEndpoints(
  { api, ledger }: Config,
  kinds: LedgerKinds,
  pool: Pool,
  wake: (organisationId: string) => Promise<boolean>,
): ReadonlyMap<string, HttpAnswer> {
  const addressOf = clientAddresses(api.trustedProxies);
  return new Map(
    Object.entries(kinds).flatMap(([kind, { webhooks }]) => {
      const key = settingOf(ledger.webhookKeys, kind);
      if (webhooks === null || key === null) return [];
      const answer = ledgerWebhookAnswer({
        ...webhooks,
        wake,
        addressOf,
        read: (delivery) => webhooks.read(delivery, key),
        record: (notifications) => recordNotifications(pool, kind, notifications),
      });
      return [[ledgerWebhookPathOf(kind), answer]];
    }),
  );
}
