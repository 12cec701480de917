/**
 * The door for the ledger's webhooks: `POST /ledger/webhooks/xero`. It needs no key, because the signature over the body decides, and is
 * never counted. It only notes where to look; what the ledger sends is never written. Facts: facts-ledger section 1.9.
 */
import type { HttpRequest, HttpResponse } from "../gateway/exchange.ts";
import { assertAnnouncedSize, readBody } from "../gateway/read-body.ts";
import { RequestFault } from "../gateway/request-fault.ts";
import { respond } from "../gateway/respond.ts";
import type { LedgerHint, LedgerWebhook, LedgerWebhookDelivery } from "../ledger/port.ts";
import type { Answer } from "./own-paths.ts";

/** Where Xero's webhooks are taken. */
export const xeroWebhookPath = "/ledger/webhooks/xero";

/** How a kind of ledger's webhooks are read, and what becomes of them. */
export interface LedgerWebhookParts {
  /** In lower case. */
  readonly signatureHeader: string;
  readonly read: (delivery: LedgerWebhookDelivery) => LedgerWebhook;
  /** Notes where to look; the organisations whose ledgers these are. */
  readonly note: (hints: readonly LedgerHint[]) => Promise<readonly string[]>;
  /** Has an organisation's ledger looked at; what could not be started is found within the minute. */
  readonly wake: (organisationId: string) => Promise<unknown>;
}

/**
 * How many bodies are read at once: nobody has shown a key here, so that strangers together hold this many megabytes at most. The ledger
 * sends again what is turned away.
 */
const mostBodies = 32;

/** What an HMAC-SHA256 in base64 looks like: without one no body is read. */
const signatureForm = /^[A-Za-z0-9+/]{43}=$/;

/**
 * Answers 200 once it is noted, 401 where the signature is wrong, 503 where too many are being read, all empty, as the ledger asks.
 */
export function ledgerWebhookAnswer({ signatureHeader, read, note, wake }: LedgerWebhookParts): Answer {
  let reading = 0;
  return async (request, response, exchange) => {
    const end = (status: number) => endEmpty(request, response, exchange.requestId, status);
    const signature = String(request.headers[signatureHeader] ?? "");
    if (!signatureForm.test(signature)) return end(401);
    if (reading >= mostBodies) return end(503);
    reading += 1;
    const rawBody = await bodyOf(request, response, exchange.awaitsContinue).finally(() => {
      reading -= 1;
    });
    if (typeof rawBody === "number") return end(rawBody);
    const told = read({ rawBody, signature });
    if (told.kind === "invalid") return end(401);
    const organisationIds = await note(told.hints);
    end(200);
    await Promise.all(organisationIds.map(wake));
  };
}

/** The body's bytes, or the status that refuses it. */
async function bodyOf(
  request: HttpRequest,
  response: HttpResponse,
  awaitsContinue: boolean,
): Promise<Uint8Array | number> {
  try {
    assertAnnouncedSize(request);
    if (awaitsContinue) response.writeContinue();
    return await readBody(request);
  } catch (error) {
    if (!(error instanceof RequestFault)) throw error;
    return error.code === "request_too_large" ? 413 : 400;
  }
}

function endEmpty(request: HttpRequest, response: HttpResponse, requestId: string, status: number): void {
  const headers = ["Request-Id", requestId, "Cache-Control", "no-store", "X-Content-Type-Options", "nosniff"];
  respond(request, response, status, headers, "");
}
