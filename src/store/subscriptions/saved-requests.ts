/** How a request's writes are saved and found again by a repeat of the request (IDEMPOTENCY-2). */

/**
 * A request to save with what it writes. `requestId` is derived from the idempotency key, or unique
 * to this request without a key. `requestedBy` is the API key, or the operator's token. A caller
 * waits for the ledger until `awaitedUntil`.
 */
export interface RequestToSave {
  readonly requestId: string;
  readonly requestHash: Uint8Array<ArrayBuffer>;
  readonly requestedBy?: string;
  readonly awaitedUntil: Date;
}

/**
 * How long a request is found again. An idempotency key lives 24 hours from the start of its
 * request, and afterwards it stands for another request (IDEMPOTENCY-6). This is a minute less,
 * because the request was saved later than it started. Until then the response stored with the key
 * answers.
 */
const foundForMs = (24 * 60 - 1) * 60_000;

/**
 * Returns the instant after which saved requests are found. `databaseNow` is the database's time,
 * also in a sandbox: an idempotency key's 24 hours are real hours.
 */
export function foundSince(databaseNow: Date): Date {
  return new Date(databaseNow.getTime() - foundForMs);
}
