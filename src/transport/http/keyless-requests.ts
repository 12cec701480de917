/**
 * Limits the open requests of clients that have not shown a valid key. A key counts as shown if an
 * earlier request with it was admitted: those requests are never limited here, so that they go on
 * beside any flood of strangers.
 */
import { hash } from "node:crypto";
import { constants } from "node:http2";
import type { Exchange, HttpRequest, HttpResponse } from "../rest/exchange.ts";
import { hasBody } from "../rest/read-body.ts";
import type { AddressOf } from "./client-addresses.ts";
import type { HttpLimits } from "./limits.ts";
import { createSlots, type Slot, type SlotHolder } from "./slots.ts";

/** Watches over requests whose key is not known to be valid. */
export interface KeylessRequests {
  /** Counts a request until it closes. False if it must be refused, because too many are open. */
  admit(request: HttpRequest, response: HttpResponse, exchange: Exchange): boolean;
  /** Records what the client has not read of an answer that is written. */
  written(response: HttpResponse): void;
}

/** Keys in use at once whose requests go on during a flood: together they take about a megabyte. */
const mostKnown = 10_000;

/** What the gates answer to a key or token that is not valid. */
const invalidCredentials = new Set<string | null>(["invalid_api_key", "invalid_operator_token"]);

/** Creates the watch for one port. */
export function watchKeylessRequests(limits: HttpLimits, addressOf: AddressOf): KeylessRequests {
  // Two kinds, so that a flood of the one never refuses the other: health probes beside invented
  // keys, new keys beside probes.
  const withoutCredentials = createSlots(limits.withoutCredentials);
  const unprovenCredentials = createSlots(limits.unprovenCredentials);
  const known = knownCredentials();
  const slots = new WeakMap<HttpResponse, Slot>();

  return {
    admit(request, response, exchange) {
      const { authorization } = exchange.credentials;
      const digest = typeof authorization === "string" ? hash("sha256", authorization, "base64") : null;
      if (digest !== null) {
        response.once("close", () => known.note(digest, exchange));
        if (known.has(digest)) return true;
      }
      const connection = request.stream === undefined ? request.socket : request.stream.session;
      const holder = {
        connection: connection ?? response,
        address: connection === undefined ? null : addressOf(connection),
        state: digest === null ? () => stateWithout(request, response) : () => stateWith(response, exchange),
        evict: () => end(response),
      };
      const slot = (digest === null ? withoutCredentials : unprovenCredentials).take(holder);
      if (slot === null) return false;
      slots.set(response, slot);
      response.once("close", slot.release);
      return true;
    },
    written: (response) => slots.get(response)?.setBytes(response.writableLength),
  };
}

/**
 * Nothing such a request asks for takes long here: what stays open waits for its client to send or
 * to read.
 */
function stateWithout(request: HttpRequest, response: HttpResponse): ReturnType<SlotHolder["state"]> {
  return response.headersSent || (hasBody(request) && !request.complete) ? "evictable" : "busy";
}

/** Until it is answered such a request may wait for the database, which decides about its key. */
function stateWith(response: HttpResponse, exchange: Exchange): ReturnType<SlotHolder["state"]> {
  if (exchange.apiKeyId !== null) return "exempt";
  return response.headersSent ? "evictable" : "busy";
}

function end(response: HttpResponse): void {
  if (response.stream === undefined) response.destroy();
  else response.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
}

/**
 * The credentials that were admitted last, by digest: this process does not hold a key for longer
 * than its request.
 */
function knownCredentials() {
  const digests = new Set<string>();
  return {
    has: (digest: string) => digests.has(digest),
    /** Notes what became of a request with these credentials. */
    note(digest: string, { apiKeyId, code }: Exchange): void {
      if (apiKeyId === null && !invalidCredentials.has(code)) return;
      digests.delete(digest);
      if (apiKeyId === null) return;
      // The one that was used last stands last, so that the first is dropped.
      digests.add(digest);
      if (digests.size <= mostKnown) return;
      const [oldest] = digests;
      if (oldest !== undefined) digests.delete(oldest);
    },
  };
}
