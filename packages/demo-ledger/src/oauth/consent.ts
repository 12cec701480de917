/**
 * The consent page for an app. It lists the demo ledger's organisations, any of which may be
 * ticked. There is no sign-in, because the demo ledger has no users.
 */
import type pg from "pg";
import type { DemoAnswer } from "../api/answers.ts";
import type { AppBook, DemoApp } from "./apps.ts";

interface Organisation {
  readonly tenantId: string;
  readonly name: string;
}

/** More would be a long page. People try the newest ones. */
const maxShown = 50;

/**
 * Answers `GET` and `POST /identity/connect/authorize`: the page and its form. The browser is
 * redirected with a code, or with `error=access_denied` if nothing was ticked. It is never
 * redirected to an address that the app has not registered.
 */
export async function consentAnswer(
  pool: pg.Pool,
  apps: AppBook,
  method: string,
  query: URLSearchParams,
  body: string,
): Promise<DemoAnswer> {
  const app = await apps.byClient(query.get("client_id") ?? "");
  const redirectUrl = query.get("redirect_uri") ?? "";
  if (!app?.redirectUrls.includes(redirectUrl))
    return page(400, "<p>unauthorized_client: unknown client or redirect_uri</p>");
  const method256 = query.get("code_challenge_method") ?? "S256";
  if (query.get("response_type") !== "code" || method256 !== "S256") {
    return leadBack(redirectUrl, { error: "invalid_request" }, query);
  }
  const organisations = await listOrganisations(pool);
  if (method !== "POST") return page(200, formOf(app, organisations));
  const known = new Set(organisations.map(({ tenantId }) => tenantId));
  const tenantIds = new URLSearchParams(body).getAll("tenant").filter((id) => known.has(id));
  if (tenantIds.length === 0) return leadBack(redirectUrl, { error: "access_denied" }, query);
  const challenge = query.get("code_challenge");
  const code = await apps.consent({ clientId: app.clientId, redirectUrl, challenge, tenantIds });
  return leadBack(redirectUrl, { code }, query);
}

async function listOrganisations(pool: pg.Pool): Promise<readonly Organisation[]> {
  const { rows } = await pool.query<Organisation>(
    `select tenant_id as "tenantId", name from demo_ledger.tenants
      order by created_at desc, tenant_id limit $1`,
    [maxShown],
  );
  return rows;
}

function formOf(app: DemoApp, organisations: readonly Organisation[]): string {
  const rows = organisations.map(
    ({ tenantId, name }) =>
      `<label><input type="checkbox" name="tenant" value="${tenantId}"> ` +
      `${escapeHtml(name)} <code>${tenantId}</code></label><br>`,
  );
  const title = `<p><b>${escapeHtml(app.name)}</b> asks for access to:</p>`;
  return `${title}<form method="post">${rows.join("")}
<p><button>Allow access</button> (with nothing ticked: deny)</p></form>`;
}

function leadBack(
  redirectUrl: string,
  parameters: Readonly<Record<string, string>>,
  query: URLSearchParams,
): DemoAnswer {
  const url = new URL(redirectUrl);
  const state = query.get("state");
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  if (state !== null) url.searchParams.set("state", state);
  return { status: 302, headers: { location: url.href, "cache-control": "no-store" }, body: "" };
}

function page(status: number, content: string): DemoAnswer {
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  };
  const title = "Demo ledger: consent";
  const head = `<meta charset="utf-8"><title>${title}</title>`;
  const body =
    `<!doctype html><html lang="en"><head>${head}</head>` +
    `<body><h1>${title}</h1>${content}</body></html>`;
  return { status, headers, body };
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
