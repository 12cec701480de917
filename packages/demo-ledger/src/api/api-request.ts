/**
 * One request to the accounting API after the gate: the organisation, the resource, and the
 * elements of the body.
 */
import type pg from "pg";
import {
  type ExactJson,
  type ExactObject,
  isPlainNumber,
  numberToken,
  objectOf,
  objectsOf,
  readExactJson,
} from "../../../../src/ledger/port/exact-json.ts";
import type { DemoTenant } from "../tenants.ts";
import {
  badRequestAnswer,
  type DemoAnswer,
  emptyId,
  listAnswer,
  validationAnswer,
  validationErrors,
} from "./answers.ts";

/**
 * A request as the resources see it. `segments` are the parts of the path below the base.
 * `refusalOf` returns the messages of a fault for an element (by number, code or id), or an empty
 * list.
 */
export interface ApiRequest {
  readonly pool: pg.Pool;
  readonly tenant: DemoTenant;
  readonly method: string;
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  readonly modifiedSince: string;
  readonly text: string;
  /** Above this number of records of a kind, lists accept only filters that Xero has optimised. */
  readonly highVolume: number;
  readonly refusalOf: (...names: readonly string[]) => readonly string[];
}

/**
 * Returns the elements of a body: `{"Invoices": […]}`, a list, or one bare element. A body without
 * elements returns the 400.
 */
export function readElements(
  request: ApiRequest,
  member: string,
): { readonly kind: "elements"; readonly elements: readonly ExactObject[] } | DemoAnswer {
  const body = readExactJson(request.text);
  if (body === undefined) {
    return badRequestAnswer(14, "PostDataInvalidException", "Invalid Json data.");
  }
  const wrapped = objectOf(body)?.[member];
  const list = objectsOf(wrapped ?? (Array.isArray(body) ? body : [body]));
  const elements = list.filter((element) => Object.keys(element).length > 0);
  if (elements.length === 0) {
    const message =
      "No data has been processed for this endpoint. " +
      `This endpoint is expecting ${member} data.`;
    return badRequestAnswer(17, "NoDataProcessedException", message);
  }
  return { kind: "elements", elements };
}

/**
 * Returns true if one wrong element refuses the whole request. That is the default in Xero's
 * documents.
 */
export function isSummarised(request: ApiRequest): boolean {
  return (request.query.get("summarizeErrors") ?? "true").toLowerCase() !== "false";
}

/** The outcome of one element: created, or refused with its echo. */
export type ElementOutcome =
  | { readonly kind: "created"; readonly element: object }
  | { readonly kind: "refused"; readonly element: object };

/**
 * Returns the answer to a create. With summarised errors it is 400 with the refused elements, else
 * 200 with all in order.
 */
export function finishedAnswer(
  request: ApiRequest,
  member: string,
  outcomes: readonly ElementOutcome[],
): DemoAnswer {
  const refused = outcomes.filter(({ kind }) => kind === "refused");
  if (refused.length > 0 && isSummarised(request))
    return validationAnswer(refused.map(({ element }) => element));
  return listAnswer(
    member,
    outcomes.map(({ kind, element }) => ({
      ...element,
      StatusAttributeString: kind === "created" ? "OK" : "ERROR",
    })),
  );
}

/** Returns the echo of a refused element: the sent members, an empty id, and the reasons. */
export function refusedElement(
  idName: string,
  errorFlag: string,
  sent: ExactObject,
  messages: readonly string[],
): object {
  return { ...refusedEcho(sent, messages), [idName]: emptyId, [errorFlag]: true };
}

/** Returns the echo of a refused element without an id: the sent members, and the reasons. */
export function refusedEcho(sent: ExactObject, messages: readonly string[]): object {
  return { ...echoOf(sent), ValidationErrors: validationErrors(messages) };
}

// Numbers were read as text. In the echo they are numbers again.
const numericMembers = new Set([
  "Amount",
  "CurrencyRate",
  "DiscountRate",
  "LineAmount",
  "Quantity",
  "TaxAmount",
  "UnitAmount",
]);

function echoOf(sent: ExactObject): object {
  const echoed = Object.entries(sent).map(([name, value]) => [name, echoOfMember(name, value)]);
  return Object.fromEntries(echoed);
}

function echoOfMember(name: string, value: ExactJson | undefined): unknown {
  if (typeof value === "string")
    return numericMembers.has(name) && isPlainNumber(value) ? numberToken(value) : value;
  if (Array.isArray(value)) return value.map((one) => echoOfMember(name, one));
  const inner = objectOf(value);
  return inner ? echoOf(inner) : value;
}
