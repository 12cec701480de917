/**
 * Creates and changes webhook endpoints for the admin API. Signing secrets are written and never
 * returned. WEBHOOK-1, WEBHOOK-3.
 */
import { Refusal } from "../../../domain/refusal.ts";
import type { Prisma, WebhookEndpoint } from "../../../gen/prisma/client.ts";
import type { Encryption } from "../../database/encryption.ts";
import { isId } from "../../database/ids.ts";
import { lockOrganisation, lockRow } from "../../database/lock-order.ts";
import type { PageRequest } from "../../database/page.ts";
import type { Pool, Transaction } from "../../database/pool.ts";
import { db, dbOfAll, withoutUndefined } from "../../database/prisma/client.ts";
import { endpointSecretBound } from "../../events/deliveries.ts";
import { type Actor, type Change, type Changed, type Changes, changed } from "../changes.ts";
import type { Created } from "../credentials.ts";
import { pageBySeq } from "../page-by-seq.ts";

/** An endpoint without its secrets. */
export type EndpointView = Omit<
  WebhookEndpoint,
  "seq" | "encryptedSecret" | "encryptionKeyId" | "encryptedPrevious" | "previousKeyId"
>;

type EndpointSettings = Pick<WebhookEndpoint, "url" | "description" | "kinds">;

/** A new endpoint. `secret` is encrypted. */
interface NewEndpoint extends EndpointSettings {
  readonly id: string;
  readonly secret: string;
}

/** Undefined leaves a field as it is. */
type EndpointChanges = {
  readonly [Name in keyof EndpointSettings]: EndpointSettings[Name] | undefined;
};

/** A rotation: the new secret, and which previous secrets stop signing at once. */
interface Rotation {
  readonly secret: string;
  readonly dropPrevious: boolean;
  readonly dropCurrent: boolean;
}

/** How many endpoints of an organisation may be enabled. Each costs a request for every event. */
const endpointLimit = 20;

/** A closed breaker: no failures, and no deliveries held back. */
const healthy = { failures: 0, failingSince: null, openUntil: null } as const;

const secrets = {
  encryptedSecret: true,
  encryptionKeyId: true,
  encryptedPrevious: true,
  previousKeyId: true,
} as const;

/** Creates the endpoint store over changes. Null stands for one that does not exist. */
export function createEndpointStore(pool: Pool, { run }: Changes, encryption: Encryption) {
  const encrypt = (id: string, secret: string) => {
    const { bytes, keyId } = encryption.encrypt(secret, endpointSecretBound(id));
    return { encryptedSecret: new Uint8Array(bytes), encryptionKeyId: keyId };
  };
  const change = async (
    actor: Actor,
    organisationId: string,
    id: string,
    decide: Decide,
    shown?: object,
  ): Promise<EndpointView | null> =>
    isId(id) ? run(actor, (tx) => changeEndpoint(tx, organisationId, id, decide, shown)) : null;
  return {
    /**
     * Creates the endpoint, or returns the one that an earlier try with the same id created.
     * Refuses `invalid_state` if the limit of enabled endpoints is reached.
     */
    create: (actor: Actor, organisationId: string, { secret, ...endpoint }: NewEndpoint) => {
      const data = { ...endpoint, ...encrypt(endpoint.id, secret) };
      return run(actor, (tx) => createEndpoint(tx, { ...data, organisationId }));
    },
    get: async (organisationId: string, id: string) =>
      isId(id)
        ? db(pool).webhookEndpoint.findFirst({ where: { organisationId, id }, omit: secrets })
        : null,
    /** Lists endpoints with this status. Null lists all. */
    list: (organisationId: string, status: string | null, page: PageRequest) =>
      // The position may have any status.
      pageBySeq(page, ({ where, ...query }) =>
        db(pool).webhookEndpoint.findMany({
          where:
            status === null || "id" in where
              ? { ...where, organisationId }
              : { ...where, organisationId, status },
          omit: secrets,
          ...query,
        }),
      ),
    /** A new address resets the failures, which belong to the previous address. */
    update: (actor: Actor, organisationId: string, id: string, changes: EndpointChanges) =>
      change(actor, organisationId, id, (before) => decideUpdate(before, changes)),
    /**
     * The previous secret also signs for 24 hours. Refuses `invalid_state` if two secrets sign and
     * neither is dropped.
     */
    rotate: (actor: Actor, organisationId: string, id: string, { secret, ...drops }: Rotation) =>
      change(
        actor,
        organisationId,
        id,
        (before) => ({
          ...encrypt(before.id, secret),
          ...previousOf(before, drops, Date.now()),
        }),
        drops,
      ),
    /** Refuses `invalid_state` if the limit of enabled endpoints is reached. */
    enable: (actor: Actor, organisationId: string, id: string) =>
      change(actor, organisationId, id, decideEnable),
    /** An endpoint that is disabled already stays as it is. */
    disable: (actor: Actor, organisationId: string, id: string, disabledReason: string) =>
      change(actor, organisationId, id, ({ status }) =>
        status === "disabled"
          ? null
          : { status: "disabled", disabledReason, disabledAt: new Date() },
      ),
  };
}

/** Returns the fields to write, or null for none. May refuse. */
type Decide = (
  before: WebhookEndpoint,
  tx: Transaction,
) => EndpointUpdate | null | Promise<EndpointUpdate | null>;

type EndpointUpdate = Prisma.WebhookEndpointUpdateManyMutationInput;

function decideUpdate(before: WebhookEndpoint, changes: EndpointChanges): EndpointUpdate | null {
  const after = { ...before, ...withoutUndefined(changes) };
  if (JSON.stringify(logged(before)) === JSON.stringify(logged(after))) return null;
  const { url, description, kinds } = after;
  return { url, description, kinds, ...(url === before.url ? {} : healthy) };
}

const decideEnable: Decide = async (before, tx) => {
  if (before.status === "enabled") return before.failures === 0 ? null : healthy;
  await requirePlace(tx, before.organisationId);
  return { status: "enabled", disabledReason: null, disabledAt: null, ...healthy };
};

async function createEndpoint(
  tx: Transaction,
  data: Prisma.WebhookEndpointUncheckedCreateInput & { readonly id: string },
): Promise<Changed<Created<EndpointView>>> {
  const { id, organisationId } = data;
  // Locks all endpoints of the organisation, so that no other one is enabled during the count.
  await lockOrganisation(tx, organisationId);
  // Of any organisation: the caller refuses a key that created another organisation's endpoint.
  const earlier = await dbOfAll(tx).webhookEndpoint.findFirst({ where: { id }, omit: secrets });
  if (earlier !== null) return changed({ created: earlier, isNew: false });
  await requirePlace(tx, organisationId);
  const created = await db(tx).webhookEndpoint.create({ data, omit: secrets });
  return changed({ created, isNew: true }, changeOf(null, created));
}

/** `shown` is what the log shows of the change that the endpoint does not. */
async function changeEndpoint(
  tx: Transaction,
  organisationId: string,
  id: string,
  decide: Decide,
  shown?: object,
): Promise<Changed<EndpointView | null>> {
  const where = { organisationId, id };
  await lockOrganisation(tx, organisationId);
  await lockRow(tx, "webhook_endpoints", organisationId, id);
  const before = await db(tx).webhookEndpoint.findFirst({ where });
  if (before === null) return changed(null);
  const data = await decide(before, tx);
  if (data === null) return changed(before);
  const after = await db(tx).webhookEndpoint.update({ where, data });
  return changed(after, changeOf(before, after, shown));
}

function changeOf(before: EndpointView | null, after: EndpointView, shown?: object): Change {
  return {
    targetKind: "webhook_endpoint",
    targetId: after.id,
    organisationId: after.organisationId,
    before: before && logged(before),
    after: { ...logged(after), ...shown },
  };
}

async function requirePlace(tx: Transaction, organisationId: string): Promise<void> {
  const where = { organisationId, status: "enabled" };
  if ((await db(tx).webhookEndpoint.count({ where })) < endpointLimit) return;
  const message = `The organisation has ${endpointLimit} enabled endpoints, the most allowed`;
  throw new Refusal("invalid_state", `${message}: disable one first.`);
}

/**
 * Returns what the log stores: what operators decide, and the failures that enabling resets. A
 * rotation shows until when the previous secret is valid.
 */
function logged(endpoint: EndpointView): object {
  const { url, description, kinds, status, disabledReason, previousUntil, failures } = endpoint;
  return {
    url,
    description,
    kinds,
    status,
    disabledReason,
    previousSecretUntil: previousUntil,
    failures,
  };
}

/** How long the previous secret also signs after a rotation. WEBHOOK-1. */
const secretOverlapMs = 24 * 60 * 60 * 1000;

/**
 * Returns the secret that signs in addition to a new one: the remaining previous secret, of which
 * there is at most one.
 */
function previousOf(
  endpoint: WebhookEndpoint,
  { dropPrevious, dropCurrent }: Omit<Rotation, "secret">,
  now: number,
): Pick<WebhookEndpoint, "encryptedPrevious" | "previousKeyId" | "previousUntil"> {
  const { encryptedSecret, encryptionKeyId, encryptedPrevious, previousKeyId, previousUntil } =
    endpoint;
  const hasPrevious = !dropPrevious && previousUntil !== null && previousUntil.getTime() > now;
  if (hasPrevious && !dropCurrent) {
    const message =
      `The secret before the last rotation signs until ${previousUntil.toISOString()}. ` +
      "With drop_previous it stops now. With drop_current the newest one stops, which is right " +
      "if no receiver has it.";
    throw new Refusal("invalid_state", message);
  }
  const until = new Date(now + secretOverlapMs);
  if (!dropCurrent)
    return {
      encryptedPrevious: encryptedSecret,
      previousKeyId: encryptionKeyId,
      previousUntil: until,
    };
  if (hasPrevious) return { encryptedPrevious, previousKeyId, previousUntil: until };
  return { encryptedPrevious: null, previousKeyId: null, previousUntil: null };
}
