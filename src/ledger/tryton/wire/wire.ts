/**
 * Requests to one company of Tryton over its REST interface: search, create, change, delete, and
 * the actions of a model. A request is one transaction there.
 */
import type { Agent } from "undici";
import type { BegunCall } from "../../port/call.ts";
import { type CallPermits, createPermits } from "../../port/call-permits.ts";
import {
  type ExactJson,
  type ExactObject,
  numberToken,
  objectOf,
  objectsOf,
  writeExactJson,
} from "../../port/exact-json.ts";
import { failureOfSilence, unreadable } from "../../port/failures.ts";
import { createAgent, exchange } from "../../port/http/exchange.ts";
import type { LedgerAnswer } from "../../port/ledger.ts";
import type { LedgerCredentials, LedgerOptions } from "../../port/ledger-kind.ts";
import { placeOf, type TrytonPlace } from "./connection.ts";
import { readReply } from "./failure.ts";

/** A search. A domain is Tryton's list of conditions. */
export interface TrytonSearch {
  readonly domain: readonly unknown[];
  readonly fields: readonly string[];
  readonly order?: readonly (readonly [string, "ASC" | "DESC"])[];
  readonly limit?: number;
}

/** The client for one company. Ids are text of whole numbers. */
export interface TrytonWire {
  readonly companyId: number;
  search(
    call: BegunCall,
    model: string,
    search: TrytonSearch,
  ): Promise<LedgerAnswer<readonly ExactObject[]>>;
  /** Creates one object and returns these fields of it. */
  create(call: BegunCall, model: string, values: object, fields: readonly string[]): Answer;
  /** Changes one object and returns these fields of it. */
  update(call: BegunCall, object: TrytonObject, values: object, fields: readonly string[]): Answer;
  /** Runs an action on one object and returns these fields of it. */
  act(call: BegunCall, object: TrytonObject, action: string, fields: readonly string[]): Answer;
  remove(call: BegunCall, object: TrytonObject): Promise<LedgerAnswer<ExactJson>>;
  /** Calls a function of a model. */
  ask(
    call: BegunCall,
    model: string,
    name: string,
    values: object,
  ): Promise<LedgerAnswer<ExactJson>>;
  close(): Promise<void>;
}

type Answer = Promise<LedgerAnswer<ExactObject>>;

/** An object by its model and id. */
export interface TrytonObject {
  readonly model: string;
  readonly id: string;
}

interface TrytonRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below the models: the model, then an id, then an action. */
  readonly path: string;
  readonly query?: readonly [string, string][];
  readonly body?: object;
  /** Whether a POST only reads. */
  readonly isRead?: boolean;
}

interface WireParts {
  readonly agent: Agent;
  readonly permits: CallPermits;
  readonly place: TrytonPlace;
  readonly headers: Readonly<Record<string, string>>;
  readonly options: LedgerOptions;
}

/** Creates a wire with a separate connection pool. */
export function createTrytonWire(
  connection: LedgerCredentials,
  options: LedgerOptions,
): TrytonWire {
  const place = placeOf(connection);
  const { companyId } = place;
  const agent = createAgent(options);
  const context = { company: companyId, companies: [companyId], _skip_warnings: true };
  const headers = {
    authorization: `bearer ${connection.clientSecret}`,
    accept: "application/json",
    "accept-language": "en",
    "content-type": "application/json",
    "x-tryton-context": encoded(context),
  };
  const parts = { agent, permits: createPermits(options.budget), place, headers, options };
  const send = (call: BegunCall, request: TrytonRequest) => sendRequest(parts, call, request);
  const one = async (call: BegunCall, request: TrytonRequest): Answer => {
    const answer = await send(call, request);
    if (answer.kind !== "ok") return answer;
    const value = objectOf(answer.value);
    return value === undefined ? unreadable("no object", true) : { kind: "ok", value };
  };
  const pathOf = ({ model, id }: TrytonObject) => `${model}/${id}`;
  return {
    companyId,
    search: async (call, model, search) => {
      const answer = await send(call, { method: "GET", path: model, query: queryOf(search) });
      if (answer.kind !== "ok") return answer;
      if (!Array.isArray(answer.value)) return unreadable("no list", false);
      return { kind: "ok", value: objectsOf(answer.value) };
    },
    create: (call, model, values, fields) =>
      one(call, { method: "POST", path: model, query: fieldsQuery(fields), body: values }),
    update: (call, object, values, fields) =>
      one(call, { method: "PUT", path: pathOf(object), query: fieldsQuery(fields), body: values }),
    act: (call, object, action, fields) => {
      const path = `${pathOf(object)}/${action}`;
      return one(call, { method: "POST", path, query: fieldsQuery(fields), body: {} });
    },
    remove: (call, object) => send(call, { method: "DELETE", path: pathOf(object) }),
    ask: (call, model, name, values) =>
      send(call, { method: "POST", path: `${model}/${name}`, body: values, isRead: true }),
    close: () => agent.close(),
  };
}

/** Writes an id for a body. */
export function idValue(id: string): object {
  return numberToken(id);
}

async function sendRequest(
  { agent, permits, place, headers, options }: WireParts,
  call: BegunCall,
  { method, path, query, body, isRead = method === "GET" }: TrytonRequest,
): Promise<LedgerAnswer<ExactJson>> {
  const permit = await permits.take(call);
  if (permit.kind !== "granted") return permit;
  call.onPermit();
  const sentMs = performance.now();
  const search = new URLSearchParams(query?.map(([name, value]) => [name, value])).toString();
  const url = `${place.restUrl}/${path}${search === "" ? "" : `?${search}`}`;
  const text = body === undefined ? null : writeExactJson(body);
  const reply = await exchange(agent, { method, url, headers, body: text }, call.signal);
  const status = reply.kind === "silent" ? null : reply.status;
  const durationMs = Math.round(performance.now() - sentMs);
  call.onAnswered({ status, correlationId: null, durationMs });
  if (reply.kind === "silent") {
    // Tryton may still be busy with a sent request. Its permit then ends with its lease.
    if (!reply.sent) await permit.end(null);
    return failureOfSilence(reply, !isRead);
  }
  await permit.end(null);
  if (reply.status >= 400) {
    const masked = `/${path.replace(/\/\d+/, "/{id}")}`;
    const log = { method, path: masked, status: reply.status, correlationId: null, warnings: [] };
    options.observeAnswer?.(log);
  }
  return readReply(reply, !isRead);
}

function queryOf({ domain, fields, order, limit }: TrytonSearch): [string, string][] {
  return [
    ["d", encoded(domain)],
    ...(order === undefined ? [] : [["o", encoded(order)] satisfies [string, string]]),
    ...(limit === undefined ? [] : [["s", String(limit)] satisfies [string, string]]),
    ...fieldsQuery(fields),
  ];
}

function fieldsQuery(fields: readonly string[]): [string, string][] {
  return fields.map((field) => ["f", field]);
}

// Tryton decodes with padding.
function encoded(value: unknown): string {
  return Buffer.from(writeExactJson(value))
    .toString("base64")
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}
