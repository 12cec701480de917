/**
 * Events: which kinds there are, what the changes of an object within one window are told as, and the body that receivers are sent. Pure:
 * objects come as the JSON text that a retrieval answers. Spec: Webhooks; decisions §3 "Event".
 */

/** The objects of which changes are told. */
export const objectKinds = ["customer", "subscription", "invoice", "credit_note"] as const;

/** A kind of object. */
export type ObjectKind = (typeof objectKinds)[number];

/** What became of an object, as it is marked by the transaction that changed it. */
export type ChangeMark = "created" | "updated" | "ended" | "paid" | "voided" | "deleted";

/**
 * Every kind of event that an endpoint can ask for. Spec: Webhooks, Event kinds. Nothing removes customers or subscriptions, and a
 * restoration is told as `subscription.updated`: these three are accepted and never told. decisions §4.
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

/** What "Send Test Event" sends: to the endpoint that it is asked for, whatever kinds that takes. */
export const testEventType = "webhook_endpoint.test";

/** The version of the interface whose shapes an event has. Spec: Versioning. */
const apiVersion = "1.0.0";

/**
 * The kinds that tell of a state, in order, each with the statuses for which it is true. An event never says what its object does not:
 * what was undone within the window is told as `updated`.
 */
const stateKinds: Readonly<
  Record<ObjectKind, readonly { readonly mark: ChangeMark; readonly statuses: readonly string[] }[]>
> = {
  customer: [],
  subscription: [{ mark: "ended", statuses: ["ended", "complete"] }],
  invoice: [
    { mark: "paid", statuses: ["paid"] },
    { mark: "voided", statuses: ["voided"] },
    { mark: "deleted", statuses: ["deleted"] },
  ],
  credit_note: [
    { mark: "voided", statuses: ["voided"] },
    { mark: "deleted", statuses: ["deleted"] },
  ],
};

/** An object over one window: what was marked, and its JSON text before and after. */
export interface ObjectWindow {
  readonly kind: ObjectKind;
  readonly marks: readonly ChangeMark[];
  /** As it was when it was last told; null where it never was. */
  readonly before: string | null;
  readonly after: string;
}

/** An event to be told of an object. */
export interface EventToPublish {
  readonly type: EventType;
  /** The members that were otherwise before the window, as JSON text; null for a new object. */
  readonly previousAttributes: string | null;
}

type Members = Readonly<Record<string, unknown>>;

/**
 * The events of an object's window, in order: each kind once at most, `updated` only where no other is told, and nothing where all is as it
 * was. An object that was never told and is not new (it is from before there were webhooks) shows no previous attributes: `{}`.
 */
export function decideEvents({ kind, marks, before, after }: ObjectWindow): readonly EventToPublish[] {
  const isNew = before === null && marks.includes("created");
  const now = JSON.parse(after) as Members;
  const previous = before === null ? {} : previousOf(JSON.parse(before) as Members, now);
  const previousAttributes = isNew ? null : JSON.stringify(previous);
  const told: ChangeMark[] = isNew ? ["created"] : [];
  for (const { mark, statuses } of stateKinds[kind]) {
    if (marks.includes(mark) && statuses.includes(String(now.status))) told.push(mark);
  }
  // What was done and undone again was a change all the same.
  const isChanged = before === null || Object.keys(previous).length > 0 || marks.some((mark) => mark !== "updated");
  if (told.length === 0 && isChanged) told.push("updated");
  return told.map((mark) => ({ type: `${kind}.${mark}` as EventType, previousAttributes }));
}

/** The members that differ, as they were; one that was not there is null. */
function previousOf(before: Members, now: Members): Members {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  const differing = [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(now[name]));
  return Object.fromEntries(differing.map((name) => [name, before[name] ?? null]));
}

/** An event as it is sent. */
export interface EventEnvelope {
  readonly id: string;
  readonly type: EventType | typeof testEventType;
  readonly createdAt: Date;
  readonly livemode: boolean;
  /** Rises with each event of the object. */
  readonly sequence: bigint;
  /** The object as JSON text. */
  readonly object: string;
  /** As JSON text; null for a new object. */
  readonly previousAttributes: string | null;
}

/** The body of an event: final, so that every attempt sends the same bytes. decisions §3 "Event". */
export function eventBody(event: EventEnvelope): string {
  const { id, type, createdAt, livemode, sequence, object, previousAttributes } = event;
  const head = `"id":"${id}","object":"event","type":"${type}","api_version":"${apiVersion}","created":"${createdAt.toISOString()}"`;
  const data = `"data":{"object":${object},"previous_attributes":${previousAttributes ?? "null"}}`;
  return `{${head},"livemode":${livemode},"sequence":${sequence},${data}}`;
}
