/** The organisations of the demo ledger and the credentials of their custom connections. */
import { createHash, randomUUID } from "node:crypto";
import type pg from "pg";
import { violatedIndex } from "./database.ts";
import type { WebhookTarget } from "./webhooks.ts";

/** An organisation. Its secret is stored only as a hash. */
export interface DemoTenant {
  readonly tenantId: string;
  readonly name: string;
  readonly currency: string;
  readonly timezone: string;
  readonly clientId: string;
  readonly secretHash: string;
  readonly periodLockDate: string | null;
  /**
   * True if numbers are stored without outer blanks, and count as taken if only their case differs.
   */
  readonly foldsNumbers: boolean;
  readonly createdAt: Date;
}

/**
 * The input of an organisation. Without `tenantId` it is the client's organisation, or a new one.
 */
interface TenantDraft {
  readonly tenantId: string | null;
  readonly name: string;
  readonly currency: string;
  readonly timezone: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly periodLockDate: string | null;
  readonly foldsNumbers: boolean;
}

/** Finds and creates organisations. */
export interface TenantBook {
  /**
   * Creates the organisation, or updates the existing one. Null if another organisation has the
   * client id.
   */
  put(draft: TenantDraft): Promise<DemoTenant | null>;
  byId(tenantId: string): Promise<DemoTenant | null>;
  byClient(clientId: string): Promise<DemoTenant | null>;
  /**
   * Sets the webhook address of all organisations, also of those that are created while the server
   * runs.
   */
  sendAllWebhooks(target: WebhookTarget): Promise<void>;
}

// Another server on this database may change a tenant, so cached tenants are never older than this.
const rememberedMs = 1_000;

const columns = `tenant_id as "tenantId", name, currency, timezone, client_id as "clientId",
  secret_hash as "secretHash", period_lock_date::text as "periodLockDate",
  folds_numbers as "foldsNumbers", created_at as "createdAt"`;

const putStatement = `
insert into demo_ledger.tenants
  (tenant_id, name, currency, timezone, client_id, secret_hash, period_lock_date, folds_numbers)
values (coalesce($1::uuid, (select tenant_id from demo_ledger.tenants
  where client_id = $5), $8::uuid),
        $2, $3, $4, $5, $6, $7::date, $9)
on conflict (tenant_id) do update set name = excluded.name, currency = excluded.currency,
  timezone = excluded.timezone,
  client_id = excluded.client_id, secret_hash = excluded.secret_hash,
    period_lock_date = excluded.period_lock_date,
  folds_numbers = excluded.folds_numbers
returning ${columns}`;

/** Creates the access to the organisations in this database. */
export function createTenantBook(pool: pg.Pool): TenantBook {
  const remembered = new Map<string, { readonly tenant: DemoTenant; readonly until: number }>();

  let everyWebhook: WebhookTarget | null = null;

  return {
    async put(draft) {
      remembered.clear();
      // Without an id, a concurrent request may just have created the client's organisation. The
      // second try finds it.
      const tenant =
        (await putOnce(pool, draft)) ??
        (draft.tenantId === null ? await putOnce(pool, draft) : null);
      if (tenant && everyWebhook) await setWebhook(pool, tenant.tenantId, everyWebhook);
      return tenant;
    },

    async sendAllWebhooks(target) {
      everyWebhook = target;
      await pool.query("update demo_ledger.tenants set webhook_url = $1, webhook_key = $2", [
        target.url,
        target.key,
      ]);
    },

    async byId(tenantId) {
      const known = remembered.get(tenantId);
      if (known && performance.now() < known.until) return known.tenant;
      const { rows } = await pool.query<DemoTenant>(
        `select ${columns} from demo_ledger.tenants where tenant_id = $1`,
        [tenantId],
      );
      const [tenant] = rows;
      if (tenant) remembered.set(tenantId, { tenant, until: performance.now() + rememberedMs });
      return tenant ?? null;
    },

    async byClient(clientId) {
      const { rows } = await pool.query<DemoTenant>(
        `select ${columns} from demo_ledger.tenants where client_id = $1`,
        [clientId],
      );
      return rows[0] ?? null;
    },
  };
}

// Returns null if the client id belongs to another organisation.
async function putOnce(pool: pg.Pool, draft: TenantDraft): Promise<DemoTenant | null> {
  const {
    tenantId,
    name,
    currency,
    timezone,
    clientId,
    clientSecret,
    periodLockDate,
    foldsNumbers,
  } = draft;
  const secretHash = hashOfSecret(clientSecret);
  const values = [
    tenantId,
    name,
    currency,
    timezone,
    clientId,
    secretHash,
    periodLockDate,
    randomUUID(),
    foldsNumbers,
  ];
  try {
    const { rows } = await pool.query<DemoTenant>(putStatement, values);
    return rows[0] ?? null;
  } catch (error) {
    if (violatedIndex(error) === "tenants_client_id_key") return null;
    throw error;
  }
}

/** Sets the address of an organisation's webhooks. Null ends them and drops pending ones. */
export async function setWebhook(
  pool: pg.Pool,
  tenantId: string,
  target: WebhookTarget | null,
): Promise<void> {
  await pool.query(
    "update demo_ledger.tenants set webhook_url = $2, webhook_key = $3 where tenant_id = $1",
    [tenantId, target?.url ?? null, target?.key ?? null],
  );
  if (target === null)
    await pool.query("delete from demo_ledger.webhook_events where tenant_id = $1", [tenantId]);
}

/** Returns the SHA-256 of a client secret in hex. */
export function hashOfSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
