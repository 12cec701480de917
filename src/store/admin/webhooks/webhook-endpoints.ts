/**
 * Creates and changes webhook endpoints for the admin API. Signing secrets are written and never
 * returned. WEBHOOK-1, WEBHOOK-3.
 */
import { Refusal } from "../../../domain/refusal.ts";
import type { Prisma, WebhookEndpoint } from "../../../gen/prisma/client.ts";
import type { Encryption } from "../../database/encryption.ts";
import { isId } from "../../database/ids.ts";
import type { Page, PageRequest } from "../../database/page.ts";
import { endpointSecretBound } from "../../events/signing-secrets.ts";
import type { Actor, Changed, Changes, PrismaTransaction } from "../changes.ts";
import type { Made } from "../credentials.ts";
import { given } from "../organisations.ts";
import { pageBySeq } from "../page-by-seq.ts";

/** An endpoint without its secrets. */
export type EndpointView = Omit<
  WebhookEndpoint,
  "seq" | "encryptedSecret" | "encryptionKeyId" | "encryptedPrevious" | "previousKeyId"
>;

/** A new endpoint. `secret` is encrypted. */
export interface NewEndpoint {
  readonly id: string;
  readonly url: string;
  readonly description: string;
  readonly kinds: readonly string[];
  readonly secret: string;
}

/** The fields of an endpoint that can change. Undefined leaves a field as it is. */
export interface EndpointChanges {
  readonly url?: string | undefined;
  readonly description?: string | undefined;
  readonly kinds?: readonly string[] | undefined;
}

/** A rotation: the new secret, and which previous secrets stop signing at once. */
export interface Rotation {
  readonly secret: string;
  readonly dropPrevious: boolean;
  readonly dropCurrent: boolean;
}

/** An organisation's endpoints. Null stands for one that does not exist. */
export interface EndpointStore {
  /**
   * Creates the endpoint, or returns the one that an earlier try with the same id created.
   * `too_many`: the limit of enabled endpoints is reached.
   */
  create(
    actor: Actor,
    organisationId: string,
    endpoint: NewEndpoint,
  ): Promise<Made<EndpointView> | "too_many">;
  get(organisationId: string, id: string): Promise<EndpointView | null>;
  /** Lists endpoints with this status. Null lists all. */
  list(
    organisationId: string,
    status: string | null,
    page: PageRequest,
  ): Promise<Page<EndpointView>>;
  /** A new address resets the failures, which belong to the previous address. */
  update(
    actor: Actor,
    organisationId: string,
    id: string,
    changes: EndpointChanges,
  ): Promise<EndpointView | null>;
  /**
   * The previous secret also signs for 24 hours. Refuses `invalid_state` if two secrets sign and
   * neither is dropped.
   */
  rotate(
    actor: Actor,
    organisationId: string,
    id: string,
    rotation: Rotation,
  ): Promise<EndpointView | null>;
  enable(
    actor: Actor,
    organisationId: string,
    id: string,
  ): Promise<EndpointView | "too_many" | null>;
  /** An endpoint that is disabled already stays as it is. */
  disable(
    actor: Actor,
    organisationId: string,
    id: string,
    reason: string,
  ): Promise<EndpointView | null>;
}

/** How many endpoints of an organisation may be enabled. Each costs a request for every event. */
export const endpointLimit = 20;

/** How long the previous secret also signs after a rotation. WEBHOOK-1. */
const overlapMs = 24 * 60 * 60 * 1000;

/** A closed breaker: no failures, and no deliveries held back. */
const healthy = { failures: 0, failingSince: null, openUntil: null } as const;

const secrets = {
  seq: true,
  encryptedSecret: true,
  encryptionKeyId: true,
  encryptedPrevious: true,
  previousKeyId: true,
} as const;

/** Creates the endpoint store over changes. */
export function createEndpointStore(
  { prisma, run }: Changes,
  encryption: Encryption,
): EndpointStore {
  const encrypt = (id: string, secret: string) => {
    const { bytes, keyId } = encryption.encrypt(secret, endpointSecretBound(id));
    return { encryptedSecret: new Uint8Array(bytes), encryptionKeyId: keyId };
  };
  const change = async <Refused extends string>(
    actor: Actor,
    organisationId: string,
    id: string,
    decide: Decide<Refused>,
    asked: object = {},
  ): Promise<EndpointView | Refused | null> =>
    isId(id)
      ? run(actor, (transaction) => changeEndpoint(transaction, organisationId, id, decide, asked))
      : null;
  return {
    create: (actor, organisationId, { secret, ...endpoint }) => {
      const data = {
        ...endpoint,
        ...encrypt(endpoint.id, secret),
        organisationId,
        kinds: [...endpoint.kinds],
      };
      return run(actor, (transaction) => createEndpoint(transaction, data));
    },
    get: async (organisationId, id) =>
      isId(id)
        ? prisma.webhookEndpoint.findFirst({ where: { organisationId, id }, omit: secrets })
        : null,
    list: (organisationId, status, page) =>
      pageBySeq(page, {
        seqOf: (id) =>
          prisma.webhookEndpoint.findFirst({
            where: { organisationId, id },
            select: { seq: true },
          }),
        below: (seq, take) =>
          prisma.webhookEndpoint.findMany({
            where: { organisationId, ...given({ seq }), ...(status === null ? {} : { status }) },
            orderBy: { seq: "desc" },
            take,
            omit: secrets,
          }),
      }),
    update: (actor, organisationId, id, { kinds, ...changes }) =>
      change<never>(actor, organisationId, id, async (before) => {
        const after = { ...before, ...given({ ...changes, kinds: kinds && [...kinds] }) };
        if (JSON.stringify(logged(before)) === JSON.stringify(logged(after))) return null;
        const { url, description } = after;
        return { url, description, kinds: after.kinds, ...(url === before.url ? {} : healthy) };
      }),
    rotate: (actor, organisationId, id, { secret, ...drops }) =>
      change<never>(
        actor,
        organisationId,
        id,
        async (before) => ({
          ...encrypt(before.id, secret),
          ...previousOf(before, drops, Date.now()),
        }),
        drops,
      ),
    enable: (actor, organisationId, id) =>
      change<"too_many">(actor, organisationId, id, async (before, transaction) => {
        if (before.status === "enabled") return before.failures === 0 ? null : healthy;
        if (await isFull(transaction, organisationId)) return "too_many";
        return { status: "enabled", disabledReason: null, disabledAt: null, ...healthy };
      }),
    disable: (actor, organisationId, id, reason) =>
      change<never>(actor, organisationId, id, async ({ status }) =>
        status === "disabled"
          ? null
          : { status: "disabled", disabledReason: reason, disabledAt: new Date() },
      ),
  };
}

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
      `The secret before the last rotation signs until ${previousUntil.toISOString()}. With drop_previous it stops now; with ` +
      "drop_current the newest one does, which is right where nobody has it.";
    throw new Refusal("invalid_state", message);
  }
  const until = new Date(now + overlapMs);
  if (!dropCurrent)
    return {
      encryptedPrevious: encryptedSecret,
      previousKeyId: encryptionKeyId,
      previousUntil: until,
    };
  if (hasPrevious) return { encryptedPrevious, previousKeyId, previousUntil: until };
  return { encryptedPrevious: null, previousKeyId: null, previousUntil: null };
}

/** Returns the fields to write, or null for none. A string is the reason for a refusal. */
type Decide<Refused> = (
  before: WebhookEndpoint,
  transaction: PrismaTransaction,
) => Promise<Prisma.WebhookEndpointUpdateManyMutationInput | Refused | null>;

async function createEndpoint(
  transaction: PrismaTransaction,
  data: Prisma.WebhookEndpointUncheckedCreateInput & { readonly id: string },
): Promise<Changed<Made<EndpointView> | "too_many">> {
  const { id, organisationId } = data;
  await holdOrganisation(transaction, organisationId);
  const earlier = await transaction.webhookEndpoint.findUnique({ where: { id }, omit: secrets });
  if (earlier !== null) return { result: { made: earlier, isNew: false }, changes: [] };
  if (await isFull(transaction, organisationId)) return { result: "too_many", changes: [] };
  const made = await transaction.webhookEndpoint.create({ data, omit: secrets });
  const target = { targetKind: "webhook_endpoint", targetId: id, organisationId } as const;
  return {
    result: { made, isNew: true },
    changes: [{ ...target, before: null, after: logged(made) }],
  };
}

/** `asked` is logged together with the resulting endpoint, which does not show it in full. */
async function changeEndpoint<Refused extends string>(
  transaction: PrismaTransaction,
  organisationId: string,
  id: string,
  decide: Decide<Refused>,
  asked: object,
): Promise<Changed<EndpointView | Refused | null>> {
  await holdOrganisation(transaction, organisationId);
  await transaction.$executeRaw`SELECT 1 FROM webhook_endpoints
    WHERE organisation_id = ${organisationId}::uuid AND id = ${id}::uuid FOR NO KEY UPDATE`;
  const before = await transaction.webhookEndpoint.findFirst({ where: { organisationId, id } });
  if (before === null) return { result: null, changes: [] };
  const data = await decide(before, transaction);
  if (data === null) return { result: before, changes: [] };
  if (typeof data === "string") return { result: data, changes: [] };
  const after = await transaction.webhookEndpoint.update({ where: { id }, data });
  const target = { targetKind: "webhook_endpoint", targetId: id, organisationId } as const;
  return {
    result: after,
    changes: [{ ...target, before: logged(before), after: { ...logged(after), ...asked } }],
  };
}

/**
 * Locks all endpoints of the organisation, so that no other endpoint is enabled during the count.
 */
async function holdOrganisation(
  transaction: PrismaTransaction,
  organisationId: string,
): Promise<void> {
  await transaction.$executeRaw`SELECT 1 FROM organisations WHERE id = ${organisationId}::uuid FOR NO KEY UPDATE`;
}

async function isFull(transaction: PrismaTransaction, organisationId: string): Promise<boolean> {
  const enabled = await transaction.webhookEndpoint.count({
    where: { organisationId, status: "enabled" },
  });
  return enabled >= endpointLimit;
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
