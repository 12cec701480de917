/**
 * Apps of the demo ledger that organisations consent to: codes, refresh tokens that rotate with a
 * grace period, and connections (XERO-12). Codes and tokens are stored as hashes.
 */
import { createHash, createHmac, randomBytes, randomUUID } from "node:crypto";
import type pg from "pg";
import { inTransaction, type Queryable } from "../database.ts";
import { hashOfSecret } from "../tenants.ts";

/** An app. The lifetimes of its tokens are in seconds. Xero's are 1,800, 1,800 and 60 days. */
export interface DemoApp {
  readonly clientId: string;
  readonly secretHash: string;
  readonly name: string;
  readonly redirectUrls: readonly string[];
  readonly accessSeconds: number;
  readonly graceSeconds: number;
  readonly refreshSeconds: number;
}

/** A connection of an app to an organisation. */
interface AppConnection {
  readonly connectionId: string;
  readonly tenantId: string;
  readonly tenantName: string;
  readonly eventId: string;
  readonly createdAt: Date;
}

/** The content of a consent. */
interface Consent {
  readonly clientId: string;
  readonly redirectUrl: string;
  readonly challenge: string | null;
  readonly tenantIds: readonly string[];
}

/** The issued tokens, or null if the code or token is not valid. */
export type IssuedTokens = { readonly accessToken: string; readonly refreshToken: string } | null;

/** Finds and creates apps, with their codes, tokens and connections. */
export interface AppBook {
  put(app: Omit<DemoApp, "secretHash"> & { readonly clientSecret: string }): Promise<void>;
  byClient(clientId: string): Promise<DemoApp | null>;
  /**
   * Creates the code of a consent, valid once within five minutes, and the connections of that
   * consent.
   */
  consent(consent: Consent): Promise<string>;
  exchange(
    app: DemoApp,
    code: string,
    redirectUrl: string,
    verifier: string | null,
  ): Promise<IssuedTokens>;
  refresh(app: DemoApp, refreshToken: string): Promise<IssuedTokens>;
  /**
   * Returns the app and the consent of an access token, `expired`, or null if it is not a token.
   */
  readAccess(
    accessToken: string,
  ): Promise<{ readonly app: DemoApp; readonly eventId: string } | "expired" | null>;
  connections(app: DemoApp): Promise<readonly AppConnection[]>;
  /** Returns false if there is no such connection. */
  removeConnection(app: DemoApp, connectionId: string): Promise<boolean>;
  /** Revokes every refresh token of the app, as if the person had withdrawn the consent. */
  revoke(clientId: string): Promise<void>;
  /** Returns how many times tokens were refreshed for an app. */
  refreshes(clientId: string): Promise<number>;
}

const appColumns = `client_id as "clientId", secret_hash as "secretHash", name,
  redirect_urls as "redirectUrls", access_seconds as "accessSeconds",
  grace_seconds as "graceSeconds", refresh_seconds as "refreshSeconds"`;

const header = Buffer.from(JSON.stringify({ alg: "HS256", typ: "JWT" })).toString("base64url");

/** Creates the access to the apps in this database. */
export function createAppBook(pool: pg.Pool): AppBook {
  const byClient = async (clientId: string): Promise<DemoApp | null> => {
    const { rows } = await pool.query<DemoApp>(
      `select ${appColumns} from demo_ledger.apps where client_id = $1`,
      [clientId],
    );
    return rows[0] ?? null;
  };
  return {
    byClient,
    async put({
      clientId,
      clientSecret,
      name,
      redirectUrls,
      accessSeconds,
      graceSeconds,
      refreshSeconds,
    }) {
      await pool.query(
        `insert into demo_ledger.apps (client_id, secret_hash, name, redirect_urls, access_seconds,
          grace_seconds, refresh_seconds)
        values ($1, $2, $3, $4, $5, $6, $7)
        on conflict (client_id) do update set secret_hash = excluded.secret_hash,
          name = excluded.name,
          redirect_urls = excluded.redirect_urls, access_seconds = excluded.access_seconds,
          grace_seconds = excluded.grace_seconds, refresh_seconds = excluded.refresh_seconds`,
        [
          clientId,
          hashOfSecret(clientSecret),
          name,
          redirectUrls,
          accessSeconds,
          graceSeconds,
          refreshSeconds,
        ],
      );
    },
    consent: (consent) => inTransaction(pool, (client) => recordConsent(client, consent)),
    exchange: (app, code, redirectUrl, verifier) =>
      inTransaction(pool, (client) => exchangeCode(client, app, code, redirectUrl, verifier)),
    refresh: (app, refreshToken) =>
      inTransaction(pool, (client) => rotate(client, app, refreshToken)),
    async readAccess(accessToken) {
      const claims = claimsOf(accessToken);
      const app = claims && (await byClient(claims.client_id));
      if (
        !claims ||
        !app ||
        accessTokenOf(app, claims.authentication_event_id, claims.exp, claims.jti) !== accessToken
      ) {
        return null;
      }
      return claims.exp * 1_000 <= Date.now()
        ? "expired"
        : { app, eventId: claims.authentication_event_id };
    },
    async connections({ clientId }) {
      const { rows } = await pool.query<AppConnection>(
        `select c.connection_id as "connectionId", c.tenant_id as "tenantId",
          t.name as "tenantName",
          c.event_id as "eventId", c.created_at as "createdAt"
        from demo_ledger.app_connections c join demo_ledger.tenants t using (tenant_id)
        where c.client_id = $1 order by c.created_at, c.connection_id`,
        [clientId],
      );
      return rows;
    },
    async removeConnection({ clientId }, connectionId) {
      const { rowCount } = await pool.query(
        "delete from demo_ledger.app_connections where client_id = $1 and connection_id::text = $2",
        [clientId, connectionId],
      );
      return rowCount === 1;
    },
    async revoke(clientId) {
      await pool.query("delete from demo_ledger.refresh_tokens where client_id = $1", [clientId]);
    },
    async refreshes(clientId) {
      const { rows } = await pool.query<{ refreshes: number }>(
        "select refreshes from demo_ledger.apps where client_id = $1",
        [clientId],
      );
      return rows[0]?.refreshes ?? 0;
    },
  };
}

async function recordConsent(client: Queryable, consent: Consent): Promise<string> {
  const { clientId, redirectUrl, challenge, tenantIds } = consent;
  const code = randomBytes(32).toString("base64url");
  const eventId = randomUUID();
  await client.query(
    `insert into demo_ledger.codes (code_hash, client_id, redirect_url, challenge, event_id)
    values ($1, $2, $3, $4, $5)`,
    [hashOfSecret(code), clientId, redirectUrl, challenge, eventId],
  );
  for (const tenantId of tenantIds) {
    await client.query(
      `insert into demo_ledger.app_connections (connection_id, client_id, tenant_id, event_id)
        values ($1, $2, $3, $4)
      on conflict (client_id, tenant_id) do update set event_id = excluded.event_id`,
      [randomUUID(), clientId, tenantId, eventId],
    );
  }
  return code;
}

async function exchangeCode(
  client: Queryable,
  app: DemoApp,
  code: string,
  redirectUrl: string,
  verifier: string | null,
): Promise<IssuedTokens> {
  const { rows } = await client.query<{
    eventId: string;
    redirectUrl: string;
    challenge: string | null;
  }>(
    `delete from demo_ledger.codes where code_hash = $1 and client_id = $2
      and created_at > now() - interval '5 minutes'
    returning event_id as "eventId", redirect_url as "redirectUrl", challenge`,
    [hashOfSecret(code), app.clientId],
  );
  const [consented] = rows;
  if (!consented || consented.redirectUrl !== redirectUrl) return null;
  const shown =
    verifier === null ? null : createHash("sha256").update(verifier).digest("base64url");
  return shown === consented.challenge ? issueTokens(client, app, consented.eventId) : null;
}

// The sent token works once, and again within the grace period, because the answer may have been
// lost.
async function rotate(
  client: Queryable,
  app: DemoApp,
  refreshToken: string,
): Promise<IssuedTokens> {
  const { rows } = await client.query<{ eventId: string }>(
    `update demo_ledger.refresh_tokens set replaced_at = coalesce(replaced_at, clock_timestamp())
    where token_hash = $1 and client_id = $2 and expires_at > clock_timestamp()
      and (replaced_at is null or replaced_at + $3 * interval '1 second' > clock_timestamp())
    returning event_id as "eventId"`,
    [hashOfSecret(refreshToken), app.clientId, app.graceSeconds],
  );
  const [shown] = rows;
  if (!shown) return null;
  await client.query("update demo_ledger.apps set refreshes = refreshes + 1 where client_id = $1", [
    app.clientId,
  ]);
  return issueTokens(client, app, shown.eventId);
}

async function issueTokens(
  client: Queryable,
  app: DemoApp,
  eventId: string,
): Promise<IssuedTokens> {
  const refreshToken = randomBytes(32).toString("base64url");
  await client.query(
    `insert into demo_ledger.refresh_tokens (token_hash, client_id, event_id, expires_at)
    values ($1, $2, $3, clock_timestamp() + $4 * interval '1 second')`,
    [hashOfSecret(refreshToken), app.clientId, eventId, app.refreshSeconds],
  );
  const expires = Math.floor(Date.now() / 1_000) + app.accessSeconds;
  return { accessToken: accessTokenOf(app, eventId, expires, randomUUID()), refreshToken };
}

// A JWT, like Xero's, signed with the hash of the secret. A new secret invalidates the old one's
// tokens.
function accessTokenOf(
  { clientId, secretHash }: DemoApp,
  eventId: string,
  exp: number,
  jti: string,
): string {
  const claims = { client_id: clientId, authentication_event_id: eventId, exp, jti };
  const content = `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
  return `${content}.${createHmac("sha256", secretHash).update(content).digest("base64url")}`;
}

interface Claims {
  readonly client_id: string;
  readonly authentication_event_id: string;
  readonly exp: number;
  readonly jti: string;
}

function claimsOf(accessToken: string): Claims | null {
  try {
    const claims = JSON.parse(
      Buffer.from(accessToken.split(".")[1] ?? "", "base64url").toString("utf8"),
    ) as Claims;
    return typeof claims.client_id === "string" && typeof claims.exp === "number" ? claims : null;
  } catch {
    return null;
  }
}
