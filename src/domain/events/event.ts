/**
 * Events: their kinds, the events for an object's changes within one window, and the body that
 * receivers get. Pure: objects come as the JSON text that a retrieval answers (EVENT-1, EVENT-2).
 */

/** The kinds of objects whose changes are published. */
export const objectKinds = ["customer", "subscription", "invoice", "credit_note"] as const;

/** A kind of object whose changes are published. */
export type ObjectKind = (typeof objectKinds)[number];

/**
 * The kind of a change, recorded in the outbox by the transaction that changed the object
 * (EVENT-1).
 */
export type ChangeKind = "created" | "updated" | "ended" | "paid" | "voided" | "deleted";

/**
 * Every kind of event that an endpoint can subscribe to. Nothing removes customers or
 * subscriptions, and a restoration is published as `subscription.updated`. Those three kinds are
 * accepted and never emitted (EVENT-4).
 */
export const eventTypes = [
  "customer.created",
  "customer.updated",
  "customer.deleted",
  "subscription.created",
  "subscription.updated",
  "subscription.ended",
  "subscription.restored",
  "subscription.deleted",
  "invoice.created",
  "invoice.updated",
  "invoice.paid",
  "invoice.voided",
  "invoice.deleted",
  "credit_note.created",
  "credit_note.updated",
  "credit_note.voided",
  "credit_note.deleted",
] as const;

/** The kind of an event. */
export type EventType = (typeof eventTypes)[number];

/** Returns the kind of event with this name, or null. */
export function readEventType(name: string): EventType | null {
  return eventTypes.find((type) => type === name) ?? null;
}

/** Returns the kind of object that a kind of event is about: `invoice` of `invoice.paid`. */
export function objectKindOf(type: EventType): ObjectKind {
  return type.slice(0, type.indexOf(".")) as ObjectKind;
}

/**
 * The kind of the event that "Send Test Event" sends: to the requested endpoint, whatever kinds it
 * subscribes to.
 */
export const testEventType = "webhook_endpoint.test";

/** The version of the API whose shapes an event has. */
const apiVersion = "1.0.0";

/**
 * The kinds that state a status, in order, each with the statuses for which it is true. An event
 * never contradicts its object: a change undone within the window is published as `updated`
 * (EVENT-2).
 */
const stateKinds: Readonly<
  Record<
    ObjectKind,
    readonly { readonly change: ChangeKind; readonly statuses: readonly string[] }[]
  >
> = {
  customer: [],
  subscription: [{ change: "ended", statuses: ["ended", "complete"] }],
  invoice: [
    { change: "paid", statuses: ["paid"] },
    { change: "voided", statuses: ["voided"] },
    { change: "deleted", statuses: ["deleted"] },
  ],
  credit_note: [
    { change: "voided", statuses: ["voided"] },
    { change: "deleted", statuses: ["deleted"] },
  ],
};

/** An object over one window: the kinds of its changes, and its JSON text before and after. */
interface ObjectWindow {
  readonly kind: ObjectKind;
  readonly changes: readonly ChangeKind[];
  /** The last published snapshot; null if the object was never published. */
  readonly before: string | null;
  readonly after: string;
}

/** An event to publish for an object. */
interface EventToPublish {
  readonly type: EventType;
  /** The previous values of the changed members, as JSON text; null for a new object (EVENT-3). */
  readonly previousAttributes: string | null;
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Decides the events of an object's window, in order. Each kind occurs at most once, and `updated`
 * only if no other kind does. Nothing is emitted if nothing changed. An object from before there
 * were webhooks, never published and not new, has `{}` as previous attributes (EVENT-2, EVENT-3).
 */
export function decideEvents({
  kind,
  changes,
  before,
  after,
}: ObjectWindow): readonly EventToPublish[] {
  const isNew = before === null && changes.includes("created");
  const now = JSON.parse(after) as Members;
  const previous = before === null ? {} : previousOf(JSON.parse(before) as Members, now);
  const previousAttributes = isNew ? null : JSON.stringify(previous);
  const published: ChangeKind[] = isNew ? ["created"] : [];
  for (const { change, statuses } of stateKinds[kind]) {
    if (changes.includes(change) && statuses.includes(String(now.status))) published.push(change);
  }
  // A change that was undone within the window is still a change.
  const isChanged =
    before === null ||
    Object.keys(previous).length > 0 ||
    changes.some((change) => change !== "updated");
  if (published.length === 0 && isChanged) published.push("updated");
  return published.map((change) => ({
    type: `${kind}.${change}` as EventType,
    previousAttributes,
  }));
}

/** Returns the previous values of the members that differ; null for a member that did not exist. */
function previousOf(before: Members, now: Members): Members {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  const differing = [...names].filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(now[name]),
  );
  return Object.fromEntries(differing.map((name) => [name, before[name] ?? null]));
}

/** An event as it is sent. */
interface EventEnvelope {
  readonly id: string;
  readonly type: EventType | typeof testEventType;
  readonly createdAt: Date;
  readonly livemode: boolean;
  /** Rises with each event of the object (EVENT-3). */
  readonly sequence: bigint;
  /** The object as JSON text. */
  readonly object: string;
  /** The previous values as JSON text; null for a new object (EVENT-3). */
  readonly previousAttributes: string | null;
}

/**
 * Returns the body of an event. It is final, so that every attempt sends the same bytes (EVENT-5).
 */
export function eventBody(event: EventEnvelope): string {
  const { id, type, createdAt, livemode, sequence, object, previousAttributes } = event;
  const created = createdAt.toISOString();
  const head =
    `"id":"${id}","object":"event","type":"${type}",` +
    `"api_version":"${apiVersion}","created":"${created}"`;
  const data = `"data":{"object":${object},"previous_attributes":${previousAttributes ?? "null"}}`;
  return `{${head},"livemode":${livemode},"sequence":${sequence},${data}}`;
}
