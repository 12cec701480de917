/** One request to the accounting API after the gate: who asks, for what, with which elements in its body. */
import type pg from "pg";
import {
  type ExactJson,
  type ExactObject,
  isPlainNumber,
  numberToken,
  objectOf,
  objectsOf,
  readExactJson,
} from "../../../ledger/port/exact-json.ts";
import type { Tenant } from "../tenants.ts";
import {
  badRequestAnswer,
  type DemoAnswer,
  emptyId,
  listAnswer,
  validationAnswer,
  validationErrors,
} from "./answers.ts";

/**
 * A request as the resources see it. `segments` are the parts of the path below the base. `refusalOf` gives the
 * messages that a test ordered for an element (by number, code or id), empty where it ordered none.
 */
export interface ApiRequest {
  readonly pool: pg.Pool;
  readonly tenant: Tenant;
  readonly method: string;
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  readonly modifiedSince: string;
  readonly text: string;
  /** With more records of a kind than this, lists of it take only filters that Xero has optimised. */
  readonly highVolume: number;
  readonly refusalOf: (...names: readonly string[]) => readonly string[];
}

/** The elements of a body: `{"Invoices": […]}`, a list, or one bare element; or the 400 of a body that has none. */
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
    const message = `No data has been processed for this endpoint. This endpoint is expecting ${member} data.`;
    return badRequestAnswer(17, "NoDataProcessedException", message);
  }
  return { kind: "elements", elements };
}

/** Whether one wrong element refuses the whole request; without the parameter it does, as Xero's documents say. */
export function isSummarised(request: ApiRequest): boolean {
  return (request.query.get("summarizeErrors") ?? "true").toLowerCase() !== "false";
}

/** What became of one element: made, or refused with its echo. */
export type Settled =
  | { readonly kind: "made"; readonly element: object }
  | { readonly kind: "refused"; readonly element: object };

/** The answer to a create: 400 with the refused ones where errors are summarised, else 200 with all, in their order. */
export function finishedAnswer(request: ApiRequest, member: string, settled: readonly Settled[]): DemoAnswer {
  const refused = settled.filter(({ kind }) => kind === "refused");
  if (refused.length > 0 && isSummarised(request)) return validationAnswer(refused.map(({ element }) => element));
  return listAnswer(
    member,
    settled.map(({ kind, element }) => ({ ...element, StatusAttributeString: kind === "made" ? "OK" : "ERROR" })),
  );
}

/** The echo of a refused element: what was sent, an empty id, and the reasons. */
export function refusedElement(
  idName: string,
  errorFlag: string,
  sent: ExactObject,
  messages: readonly string[],
): object {
  return { ...refusedEcho(sent, messages), [idName]: emptyId, [errorFlag]: true };
}

/** The echo of a refused element that has no id of its own: what was sent, and the reasons. */
export function refusedEcho(sent: ExactObject, messages: readonly string[]): object {
  return { ...echoOf(sent), ValidationErrors: validationErrors(messages) };
}

// Numbers were read as text; in the echo they are numbers again.
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
  if (typeof value === "string") return numericMembers.has(name) && isPlainNumber(value) ? numberToken(value) : value;
  if (Array.isArray(value)) return value.map((one) => echoOfMember(name, one));
  const inner = objectOf(value);
  return inner ? echoOf(inner) : value;
}
