/**
 * Limits the open requests of clients without a proven key (LIMIT-2). A key is proven if an earlier
 * request with it was admitted. Requests with a proven key are never limited here, so they continue
 * during a flood of other requests.
 */
import { hash } from "node:crypto";
import { constants } from "node:http2";
import type { Exchange, HttpRequest, HttpResponse } from "../../rest/exchange.ts";
import { hasBody } from "../../rest/read-body.ts";
import type { AddressOf } from "./client-addresses.ts";
import type { HttpLimits } from "./limits.ts";
import type { limitRefusedRequests } from "./refused-requests.ts";
import { createSlots, type Slot, type SlotHolder } from "./slots.ts";

/** Limits requests whose key is not known to be valid. */
export type KeylessRequests = ReturnType<typeof watchKeylessRequests>;

/** As many proven keys may be in use at once. They take about two megabytes. */
const maxProven = 20_000;

/** The gates' error codes for an invalid key or token. */
const invalidCredentials = new Set<string | null>(["invalid_api_key", "invalid_operator_token"]);

const refusedCodes = new Set([
  "invalid_api_key",
  "invalid_operator_token",
  "rate_limited",
  "unknown_endpoint",
]);

/** Creates the limits of one port. */
export function watchKeylessRequests(
  limits: HttpLimits,
  addressOf: AddressOf,
  countRefused: ReturnType<typeof limitRefusedRequests>,
) {
  // Two kinds, so that a flood of one never refuses the other: health probes and requests with
  // invented keys, new keys and probes.
  const takeWithout = createSlots(limits.withoutCredentials);
  const takeUnproven = createSlots(limits.unprovenCredentials);
  const proven = createProvenCredentials(maxProven);
  const note = (digest: string, { apiKeyId, code }: Exchange): void => {
    if (apiKeyId !== null) proven.add(digest);
    else if (invalidCredentials.has(code)) proven.delete(digest);
  };
  const slots = new WeakMap<HttpResponse, Slot>();

  return {
    /**
     * Counts a request. Returns the function to call once its response has closed, or null if it
     * must be refused because too many are open.
     */
    admit(request: HttpRequest, response: HttpResponse, exchange: Exchange): (() => void) | null {
      const { authorization } = exchange.credentials;
      const digest = typeof authorization === "string" ? digestOf(authorization) : null;
      const connection = request.stream === undefined ? request.socket : request.stream.session;
      const countRefusal = () => connection !== undefined && countRefused(connection);
      if (digest !== null && proven.has(digest)) {
        return () => {
          note(digest, exchange);
          if (isRefused(response, exchange)) countRefusal();
        };
      }
      let isEvicted = false;
      const holder = {
        connection: connection ?? response,
        address: connection === undefined ? null : addressOf(connection),
        state:
          digest === null
            ? () => stateWithout(request, response)
            : () => stateWith(response, exchange),
        evict: () => {
          isEvicted = true;
          end(response);
        },
      };
      const slot = (digest === null ? takeWithout : takeUnproven)(holder);
      if (slot === null) {
        countRefusal();
        return null;
      }
      slots.set(response, slot);
      return () => {
        if (digest !== null) note(digest, exchange);
        if (isEvicted || isRefused(response, exchange)) countRefusal();
        slot.release();
      };
    },
    /** Records how many bytes of a written answer the client has not read. */
    written: (response: HttpResponse) => slots.get(response)?.setBytes(response.writableLength),
  };
}

/**
 * Such a request needs no long work here. If it stays open, it waits for its client to send or to
 * read.
 */
function stateWithout(
  request: HttpRequest,
  response: HttpResponse,
): ReturnType<SlotHolder["state"]> {
  return response.headersSent || (hasBody(request) && !request.complete) ? "evictable" : "busy";
}

/** Until it is answered, such a request may wait for the database, which decides about its key. */
function stateWith(response: HttpResponse, exchange: Exchange): ReturnType<SlotHolder["state"]> {
  if (exchange.apiKeyId !== null) return "exempt";
  return response.headersSent ? "evictable" : "busy";
}

/**
 * Whether the request was refused before a key was admitted: no key, an unknown one, one over its
 * rate, an unknown path. What another system's failure refused does not count.
 */
function isRefused({ statusCode }: HttpResponse, { apiKeyId, code }: Exchange): boolean {
  if (apiKeyId !== null) return false;
  return code === null ? statusCode >= 400 && statusCode < 500 : refusedCodes.has(code);
}

function end(response: HttpResponse): void {
  if (response.stream === undefined) response.destroy();
  else response.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
}

/** Returns the digest of a value: a key stays in this process no longer than its request. */
export function digestOf(credential: string): string {
  return hash("sha256", credential, "base64");
}

/** Keeps the `max` credentials that were admitted last. They are known by their digests. */
export function createProvenCredentials(max: number) {
  /** In the order of their last admission. */
  const digests = new Set<string>();
  return {
    has: (digest: string) => digests.has(digest),
    /** Records that a request with these credentials was admitted. */
    add: (digest: string) => {
      digests.delete(digest);
      digests.add(digest);
      if (digests.size <= max) return;
      const [oldest] = digests;
      if (oldest !== undefined) digests.delete(oldest);
    },
    /** Records that they are invalid. */
    delete: (digest: string) => void digests.delete(digest),
  };
}
