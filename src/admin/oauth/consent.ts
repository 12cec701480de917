/**
 * Connects a ledger by a person's consent: the single-use state, the browser's answer, and the
 * choice of a tenant. No state, code, verifier or token is ever logged or returned. ADMIN-4
 */
import { createHash, randomBytes } from "node:crypto";
import { Refusal } from "../../domain/refusal.ts";
import type { LedgerAnswer, LedgerFailure } from "../../ledger/port/ledger.ts";
import { findLedgerKind } from "../../ledger/port/ledger-kind.ts";
import {
  type AuthorisedConnection,
  callbackPathOf,
  type LedgerAppSettings,
  type LedgerOAuthApp,
  type ReachedTenants,
  settingNamesOf,
} from "../../ledger/port/oauth-app.ts";
import type { Actor } from "../../store/admin/changes.ts";
import {
  type ConnectionView,
  isUnsaved,
  type Unsaved,
} from "../../store/admin/ledger/connections.ts";
import type {
  ConsentTenant,
  ConsentTokens,
  UsedConsent,
} from "../../store/admin/ledger/consents.ts";
import {
  type AdminCall,
  type AdminDependencies,
  actorOf,
  requireKind,
} from "../services/dependencies.ts";
import { describeFailure, whyUnsaved } from "../services/ledger/ledger-answers.ts";
import type { AnsweredConsent, ConsentOutcome } from "./consent-page.ts";

/**
 * Our app at a kind of ledger, with its calls for a consent. `settings` has its addresses. Its
 * secret never leaves it.
 */
export interface LedgerApp extends Pick<LedgerOAuthApp, "consentUrl" | "exchange" | "tenants"> {
  readonly settings: Pick<LedgerAppSettings, "clientId" | "baseUrl" | "identityUrl">;
  /** The address to which the ledger redirects the browser. */
  readonly redirectUrl: () => string;
  /**
   * Ends the organisation's connection in the ledger. A connection that no longer exists there
   * counts as ended. `ended_before` means that the ledger or a person there had ended the
   * authorisation itself.
   */
  end(
    organisationId: string,
    connection: AuthorisedConnection,
  ): Promise<LedgerAnswer<"ended" | "ended_before">>;
}

/** The query parameters with which a browser returns. */
interface ConsentAnswer {
  readonly state: string | null;
  readonly code: string | null;
  /** The ledger's own code if there was no consent: `access_denied`. */
  readonly error: string | null;
}

/** The time limit for the ledger's page, and again for a choice of tenant. ADMIN-4 */
const consentMs = 10 * 60_000;

/**
 * 256 random bits, for the state and for the verifier. RFC 7636 requires 43 characters of a
 * verifier.
 */
const randomLength = 32;

/** The message for an unknown state. It gives no reason, because anyone can open this address. */
const unknownState = "This link was used already, is too old, or is not ours: start again.";

/** The message for an internal error. The error's own words may contain secrets. */
const ourFault = "Something failed on our side: start again.";

/**
 * Starts a consent to our app at a kind of ledger. Without a kind it is that of the connection, or
 * else the only kind with an app. Returns the single-use address to open and its expiry. Refuses
 * `invalid_parameter` if the kind is unknown or not clear, `invalid_state` if no app is configured.
 */
export async function beginConsent(
  parts: AdminDependencies,
  call: AdminCall,
  organisationId: string,
  requestedKind: string | null,
): Promise<{ readonly url: string; readonly expiresAt: Date }> {
  const kind = requestedKind ?? (await usualKind(parts, organisationId));
  requireKind(parts, kind);
  const app = requireApp(parts, kind);
  const [state, verifier] = [randomText(), randomText()];
  const redirectUrl = app.redirectUrl();
  const expiresAt = await parts.store.consents.begin(actorOf(call), organisationId, {
    kind,
    operatorId: call.caller.operatorId,
    tokenId: call.caller.tokenId,
    stateHash: hashOf(state),
    verifier,
    redirectUrl,
    consoleOrigin: call.caller.session?.origin ?? null,
    lifeMs: consentMs,
  });
  return { url: app.consentUrl({ state, verifier, redirectUrl }), expiresAt };
}

/**
 * Handles a browser's return. Bad input from outside never makes it reject. An internal error is
 * first recorded as a failed consent, then thrown.
 */
export async function answerConsent(
  parts: AdminDependencies,
  { state, code, error }: ConsentAnswer,
  requestId: string,
): Promise<AnsweredConsent> {
  const begun = state === null ? null : await parts.store.consents.use(hashOf(state));
  if (begun === null) return { outcome: { kind: "failed", why: unknownState }, consolePage: null };
  const { consents } = parts.store;
  const { organisationId, consoleOrigin } = begun;
  const consolePage =
    consoleOrigin === null ? null : `${consoleOrigin}/console/o/${organisationId}/ledger`;
  try {
    const outcome = await completeConsent(parts, begun, code, error, requestId);
    if (outcome.kind === "failed") await consents.fail(organisationId, outcome.why);
    return { outcome, consolePage };
  } catch (fault) {
    // Without this record a waiting caller would wait until the consent expires. The original fault
    // matters more than a failure to record it.
    await consents
      .fail(organisationId, fault instanceof Refusal ? fault.message : ourFault)
      .catch(() => undefined);
    throw fault;
  }
}

async function completeConsent(
  parts: AdminDependencies,
  begun: UsedConsent,
  code: string | null,
  error: string | null,
  requestId: string,
): Promise<ConsentOutcome> {
  const { organisationId, kind, verifier, redirectUrl } = begun;
  const app = requireApp(parts, kind);
  if (code === null)
    return { kind: "failed", why: `The ledger gave no consent: ${wordOf(error)}.` };
  const tokens = await app.exchange({ code, verifier, redirectUrl });
  if (tokens.kind !== "ok") return failed(tokens);
  const reached = await app.tenants(tokens.value.accessToken);
  if (reached.kind !== "ok") return failed(reached);
  const { tenants } = reached.value;
  if (tenants.length === 0)
    return { kind: "failed", why: "The consent is for no organisation of the ledger." };
  const before = await parts.store.connections.view(organisationId);
  const known = before?.kind === kind ? before.tenantId : null;
  const meant = tenantMeant(reached.value, known);
  if (meant === null) {
    await parts.store.consents.saveChoice(organisationId, tokens.value, tenants, consentMs);
    return { kind: "choose", tenants };
  }
  const { operatorId, operatorName, tokenId } = begun;
  const actor = {
    operatorId,
    operatorName,
    tokenId,
    operation: `GET ${callbackPathOf(kind)}`,
    requestId,
  };
  const saved = await connectTenant(parts, actor, { organisationId, kind }, meant, tokens.value);
  return isUnsaved(saved)
    ? { kind: "failed", why: whyUnsaved(saved) }
    : { kind: "connected", tenantName: meant.name };
}

/**
 * The tenant that a consent is for: the one connected before, else the only tenant of this consent.
 * Returns null if a person has to choose. That is so among tenants that the tokens merely reach,
 * because these may belong to another organisation.
 */
export function tenantMeant(
  { tenants, areOfConsent }: ReachedTenants,
  before: string | null,
): ConsentTenant | null {
  const [only, ...more] = tenants;
  const same = tenants.find(({ tenantId }) => tenantId === before);
  return same ?? (areOfConsent && more.length === 0 ? only : null) ?? null;
}

/**
 * Connects one of the tenants of a consent. Refuses `invalid_state` if there is no choice to make,
 * if another operator started the consent, or if it is not for this tenant.
 */
export async function chooseTenant(
  parts: AdminDependencies,
  actor: Actor,
  organisationId: string,
  tenantId: string,
): Promise<ConnectionView> {
  const choice = await parts.store.consents.choice(organisationId);
  if (choice === null)
    throw new Refusal("invalid_state", "There is nothing to choose from: begin an authorisation.");
  if (choice.operatorId !== actor.operatorId) {
    throw new Refusal(
      "invalid_state",
      "Another operator requested this consent: that operator has to choose.",
    );
  }
  const meant = choice.tenants.find((tenant) => tenant.tenantId === tenantId);
  if (meant === undefined) {
    throw new Refusal("invalid_state", "The consent is not for this tenant.", "tenant_id");
  }
  const saved = await connectTenant(
    parts,
    actor,
    { organisationId, kind: choice.kind },
    meant,
    choice.tokens,
  );
  if (isUnsaved(saved)) throw new Refusal("invalid_state", whyUnsaved(saved), "tenant_id");
  return saved;
}

async function connectTenant(
  parts: AdminDependencies,
  actor: Actor,
  { organisationId, kind }: { readonly organisationId: string; readonly kind: string },
  { connectionId, tenantId }: ConsentTenant,
  tokens: ConsentTokens,
): Promise<ConnectionView | Unsaved> {
  const { clientId, baseUrl, identityUrl } = requireApp(parts, kind).settings;
  const connection = {
    kind,
    grantKind: "authorisation",
    tenantId,
    baseUrl,
    identityUrl,
    clientId,
  } as const;
  const granted = { ...tokens, ledgerConnection: connectionId };
  const saved = await parts.store.connections.save(
    actor,
    organisationId,
    { ...connection, clientSecret: "" },
    granted,
  );
  // Jobs that were rescheduled because the connection was missing are due again.
  if (!isUnsaved(saved)) await parts.wake(organisationId);
  return saved;
}

/**
 * The kind of a consent whose request names none: the connected one, or else the only one with an
 * app.
 */
async function usualKind(
  { store, kinds, ledgerApps }: AdminDependencies,
  organisationId: string,
): Promise<string> {
  const connection = await store.connections.view(organisationId);
  if (connection !== null) return connection.kind;
  const withApps = Object.keys(kinds).filter((kind) => kinds[kind]?.app !== null);
  const configured = withApps.filter((kind) => ledgerApps.has(kind));
  const [only, ...more] = configured.length > 0 ? configured : withApps;
  if (only !== undefined && more.length === 0) return only;
  throw new Refusal("invalid_parameter", `kind must be one of ${withApps.join(", ")}`, "kind");
}

function requireApp({ kinds, ledgerApps }: AdminDependencies, kind: string): LedgerApp {
  const app = ledgerApps.get(kind);
  if (app !== undefined) return app;
  const { clientId, clientSecret } = settingNamesOf(kind);
  const message =
    findLedgerKind(kinds, kind)?.app === null
      ? "This kind of ledger has no app to consent to: connect it with its own credentials."
      : `${clientId} and ${clientSecret} are not set for this process: ` +
        "there is no app to consent to.";
  throw new Refusal("invalid_state", message);
}

function failed(failure: LedgerFailure): ConsentOutcome {
  return { kind: "failed", why: describeFailure(failure) };
}

/** Repeats an error code of the standard. Any other text is replaced. */
function wordOf(error: string | null): string {
  return error !== null && /^[a-z_]{1,40}$/.test(error) ? error : "no code came back";
}

function randomText(): string {
  return randomBytes(randomLength).toString("base64url");
}

function hashOf(state: string): Uint8Array {
  return createHash("sha256").update(state).digest();
}
