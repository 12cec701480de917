/**
 * The endpoint for a ledger's webhooks: `POST /ledger/webhooks/{kind}`. It needs no key, because
 * the signature over the body decides (LEDGER-4), and it is never counted. It only records which
 * objects to read. Content that the ledger sends is never stored.
 */

import { Refusal } from "../../domain/refusal.ts";
import type {
  LedgerNotification,
  LedgerWebhook,
  LedgerWebhookDelivery,
} from "../../ledger/port/ledger.ts";
import type { HttpRequest, HttpResponse } from "../rest/exchange.ts";
import { assertAnnouncedSize, readBody } from "../rest/read-body.ts";
import { respond, responseHeaders } from "../rest/respond.ts";
import type { AddressOf } from "./limits/client-addresses.ts";
import { createSlots } from "./limits/slots.ts";
import type { HttpAnswer } from "./system-endpoints.ts";

/** Returns the path for the webhooks of a kind of ledger. */
export function ledgerWebhookPathOf(kind: string): string {
  return `/ledger/webhooks/${kind}`;
}

/** How the webhooks of a kind of ledger are read and recorded. */
export interface LedgerWebhookParts {
  /** The header's name in lower case. */
  readonly signatureHeader: string;
  /** The form of a signature. Without such a signature no body is read. */
  readonly signatureForm: RegExp;
  readonly read: (delivery: LedgerWebhookDelivery) => LedgerWebhook;
  /** Records the change notifications. Returns the organisations of these ledgers. */
  readonly record: (notifications: readonly LedgerNotification[]) => Promise<readonly string[]>;
  /**
   * Starts the ledger sync of an organisation. If the start fails, the work is found within a
   * minute.
   */
  readonly wake: (organisationId: string) => Promise<unknown>;
  readonly addressOf: AddressOf;
  /** How long a body may take. Tests shorten it. */
  readonly bodyMs?: number;
}

/**
 * How many bodies are read at once. The signature is checked only after the body, so unverified
 * bodies take eight megabytes at most, a quarter of it for one address. A real body is complete
 * within milliseconds. The ledger repeats a refused request.
 */
const openBodies = { total: 32, perAddress: 8 };

/** Ledgers send at most a few hundred events of some 250 bytes each. */
const maxBytes = 262_144;

/** Ledgers give up after a few seconds. */
const bodyMs = 5_000;

/**
 * Answers 200 once the notifications are recorded. A wrong signature is 401, a body slower than
 * five seconds 408, one over 256 KiB 413. If too many bodies are being read, the one that has taken
 * the longest is answered 503. All answers are empty.
 */
export function ledgerWebhookAnswer(parts: LedgerWebhookParts): HttpAnswer {
  const { signatureHeader, signatureForm, read, record, wake, addressOf } = parts;
  const unlimited = { count: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };
  const takeSlot = createSlots({
    perConnection: unlimited,
    perAddress: { ...unlimited, count: openBodies.perAddress },
    total: { ...unlimited, count: openBodies.total },
  });
  const receive = async (request: HttpRequest, response: HttpResponse, awaitsContinue: boolean) => {
    const stopped = new AbortController();
    const connection = request.stream?.session ?? request.socket;
    const evict = () => stopped.abort(503);
    const slot = takeSlot({
      connection,
      address: addressOf(connection),
      state: () => "evictable",
      evict,
    });
    const timer = setTimeout(() => stopped.abort(408), parts.bodyMs ?? bodyMs);
    try {
      return await bodyOf(request, response, awaitsContinue, stopped.signal);
    } finally {
      clearTimeout(timer);
      slot?.release();
    }
  };
  return async (request, response, exchange) => {
    const end = (status: number) => endEmpty(request, response, exchange.requestId, status);
    const signature = String(request.headers[signatureHeader] ?? "");
    if (!signatureForm.test(signature)) return end(401);
    const rawBody = await receive(request, response, exchange.awaitsContinue);
    if (typeof rawBody === "number") return end(rawBody);
    const webhook = read({ rawBody, signature });
    if (webhook.kind === "invalid") return end(401);
    const organisationIds = await record(webhook.notifications);
    end(200);
    await Promise.all(organisationIds.map(wake));
  };
}

/** Returns the body's bytes, or the status that refuses it. */
async function bodyOf(
  request: HttpRequest,
  response: HttpResponse,
  awaitsContinue: boolean,
  signal: AbortSignal,
): Promise<Uint8Array | number> {
  try {
    assertAnnouncedSize(request, maxBytes);
    if (awaitsContinue) response.writeContinue();
    return await readBody(request, { maxBytes, signal });
  } catch (error) {
    if (signal.aborted) return Number(signal.reason);
    if (!(error instanceof Refusal)) throw error;
    return error.code === "request_too_large" ? 413 : 400;
  }
}

function endEmpty(
  request: HttpRequest,
  response: HttpResponse,
  requestId: string,
  status: number,
): void {
  const { "Content-Type": _, ...headers } = responseHeaders({ requestId });
  respond(request, response, status, headers, "");
}
