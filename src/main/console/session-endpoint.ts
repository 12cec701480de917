/**
 * `POST /console/session` signs an operator in and `DELETE /console/session` out. The cookie goes
 * by this endpoint and not by a method of the API, so that no answer of the API has it. ADMIN-17,
 * ADMIN-18.
 */
import { randomBytes } from "node:crypto";
import { Refusal } from "../../domain/refusal.ts";
import type { AdmittedOperator, OperatorAccess } from "../../store/access/operator-tokens.ts";
import type { Actor } from "../../store/admin/changes.ts";
import type { SessionStore } from "../../store/admin/console/console-sessions.ts";
import { newId } from "../../store/database/ids.ts";
import type { AddressOf } from "../../transport/http/limits/client-addresses.ts";
import type { HttpAnswer } from "../../transport/http/system-endpoints.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../../transport/rest/exchange.ts";
import { assertAnnouncedSize, assertJsonBody, readBody } from "../../transport/rest/read-body.ts";
import { respondError, responseHeaders } from "../../transport/rest/respond.ts";
import { hashApiKey, isOperatorToken } from "../../transport/rpc/gate/api-key.ts";
import {
  type ConsoleSite,
  readSessionHash,
  requireOwnPage,
  sessionCookie,
} from "../../transport/rpc/gate/browser-requests.ts";
import type { ReadHeader } from "../../transport/rpc/gate/gate.ts";
import { answered, type ReportError } from "../../transport/rpc/refusals.ts";
import { limitRefusals } from "./refused-sign-ins.ts";

/** The dependencies of the endpoint. */
interface SessionEndpointParts {
  readonly site: ConsoleSite;
  readonly access: Pick<OperatorAccess, "admit" | "admitSession">;
  readonly sessions: Pick<SessionStore, "useCode" | "begin" | "end">;
  readonly addressOf: AddressOf;
  readonly reportError: ReportError;
}

/** A token and its member take a hundred bytes. */
const maxBytes = 1_024;

/** What a browser says of itself takes about 110 characters. */
const maxUserAgent = 255;

/** 256 random bits in base64url, as a code has them too. */
const codeForm = /^[\w-]{43}$/;

/** Returns a new value of a cookie or a code. */
export function newSessionValue(): string {
  return randomBytes(32).toString("base64url");
}

/** Creates the endpoint. It answers 204 with the cookie set or deleted, or an error as JSON. */
export function sessionAnswer(parts: SessionEndpointParts): HttpAnswer {
  const limit = limitRefusals();
  return async (request, response, exchange) => {
    const read: ReadHeader = exchange.credentials.other ?? (() => null);
    try {
      requireOwnPage(parts.site, read);
      const value = await answered(
        request.method === "DELETE"
          ? endSession(parts, read, exchange)
          : signIn(parts, limit, request, response, exchange),
      );
      const headers = responseHeaders(exchange);
      headers["Set-Cookie"] = sessionCookie(parts.site, read, value);
      response.writeHead(204, headers).end();
    } catch (error) {
      respondError(request, response, exchange, parts.reportError(error, exchange.requestId));
    }
  };
}

/** Returns the value of the cookie. */
async function signIn(
  parts: SessionEndpointParts,
  limit: ReturnType<typeof limitRefusals>,
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
): Promise<string> {
  assertAnnouncedSize(request, maxBytes);
  assertJsonBody(request);
  if (exchange.awaitsContinue) response.writeContinue();
  const lookUp = lookUpOf(parts, credentialOf(await readBody(request, { maxBytes })));
  const address = parts.addressOf(request.stream?.session ?? request.socket);
  const operator = await limit(address, lookUp);
  const value = newSessionValue();
  const { operatorId, tokenId } = operator;
  const userAgent = String(request.headers["user-agent"] ?? "").slice(0, maxUserAgent);
  const session = { id: newId(), operatorId, tokenId, userAgent, hash: hashApiKey(value) };
  await parts.sessions.begin(actorOf(operator, request, exchange), session);
  exchange.apiKeyId = tokenId;
  return value;
}

/**
 * Returns the look-up of a token or code. Refuses one of another form at once, so that a mistyped
 * one is not counted.
 */
function lookUpOf({ access, sessions }: SessionEndpointParts, { token, code }: Credential) {
  const isCode = token === undefined;
  if (!(isCode ? codeForm.test(code) : isOperatorToken(token))) throw nobody();
  const hash = hashApiKey(isCode ? code : token);
  return async () => {
    const operator = await (isCode ? sessions.useCode(hash) : access.admit(hash));
    if (operator === null) throw nobody();
    return operator;
  };
}

function nobody(): Refusal {
  const why = "The token or code is unknown, expired or revoked, or the code was used";
  return new Refusal("invalid_operator_token", why);
}

/** Whoever is signed out already is not refused, so that the browser drops its cookie. */
async function endSession(
  { site, access, sessions }: SessionEndpointParts,
  read: ReadHeader,
  exchange: Exchange,
): Promise<null> {
  const hash = readSessionHash(site, read);
  const operator = hash && (await access.admitSession(hash));
  if (operator) {
    const actor = actorOf(operator, { method: "DELETE" }, exchange);
    await sessions.end(actor, operator.operatorId, operator.sessionId);
    exchange.apiKeyId = operator.tokenId;
  }
  return null;
}

function actorOf(
  { operatorId, name, tokenId }: AdmittedOperator,
  { method }: Pick<HttpRequest, "method">,
  { path, requestId }: Exchange,
): Actor {
  return { operatorId, operatorName: name, tokenId, operation: `${method} ${path}`, requestId };
}

type Credential =
  | { readonly token: string; readonly code?: undefined }
  | { readonly token?: undefined; readonly code: string };

function credentialOf(body: Uint8Array): Credential {
  const { token, code, ...others } = readObject(body);
  if (Object.keys(others).length === 0) {
    if (typeof token === "string" && code === undefined) return { token };
    if (typeof code === "string" && token === undefined) return { code };
  }
  throw new Refusal("invalid_parameter", "The body is an object with either token or code");
}

function readObject(body: Uint8Array): { readonly [name: string]: unknown } {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
