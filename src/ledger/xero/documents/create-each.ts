/**
 * Creates several objects in one call and answers each. An element is matched by our natural key,
 * never by position alone (XERO-1). An object that the answer does not mention is `unknown`: it is
 * looked up, not created twice (LEDGER-2).
 */
import { strict as assert } from "node:assert";
import { type ExactObject, objectsOf, writeExactJson } from "../../port/exact-json.ts";
import { unreadable } from "../../port/failures.ts";
import type { LedgerAnswer } from "../../port/ledger.ts";
import { foldText } from "../../port/texts.ts";
import {
  failureOfReply,
  isElementRefused,
  messagesOf,
  readReply,
  refusedBecause,
  refusedElements,
} from "../wire/failure.ts";
import type { XeroCall, XeroWire } from "../wire/wire.ts";

/**
 * What to create: `member` is the list's name in Xero's JSON (`Invoices`). The key functions match
 * elements to drafts.
 */
interface CreateEach<Draft, Created> {
  readonly member: "Contacts" | "Invoices" | "CreditNotes";
  readonly query?: Readonly<Record<string, string>>;
  readonly drafts: readonly Draft[];
  readonly keyOf: (draft: Draft) => string;
  readonly write: (draft: Draft) => object;
  readonly elementKeyOf: (element: ExactObject) => string | undefined;
  readonly read: (element: ExactObject) => Created | undefined;
}

// Xero recommends about 50 elements a request, and the port allows no more (POSTING-3).
const maxDrafts = 50;

/**
 * Returns one answer for each draft, in the order of the drafts. The outer answer is a failure if
 * the whole call failed.
 */
export async function createEach<Draft, Created>(
  wire: XeroWire,
  call: XeroCall,
  create: CreateEach<Draft, Created>,
): Promise<LedgerAnswer<readonly LedgerAnswer<Created>[]>> {
  const { member, drafts, keyOf } = create;
  assert(drafts.length <= maxDrafts, "too many drafts in one call");
  assert(new Set(drafts.map(keyOf)).size === drafts.length, "two drafts with one natural key");
  if (drafts.length === 0) return { kind: "ok", value: [] };

  const reply = await wire.send(call, {
    method: "PUT",
    path: `/${member}`,
    query: { ...create.query, summarizeErrors: "false" },
    body: writeExactJson({ [member]: drafts.map(create.write) }),
  });
  if (reply.kind !== "replied") return reply;
  if (reply.status === 400) {
    const failure = failureOfReply(reply, true);
    const elements = refusedElements(reply);
    if (failure.kind !== "refused" || elements.length === 0) return failure;
    return { kind: "ok", value: matchEach(create, elements) };
  }
  const answer = readReply(reply, true);
  return answer.kind === "ok"
    ? { kind: "ok", value: matchEach(create, objectsOf(answer.value[member])) }
    : answer;
}

function matchEach<Draft, Created>(
  create: CreateEach<Draft, Created>,
  elements: readonly ExactObject[],
): readonly LedgerAnswer<Created>[] {
  const byKey = new Map(elements.map((element) => [create.elementKeyOf(element), element]));
  const keys = new Set(create.drafts.map(create.keyOf));
  // Xero may store a key trimmed or in another case. Such an element is matched by elimination.
  const others = elements.filter((element) => !keys.has(create.elementKeyOf(element) ?? ""));
  const byFolded = new Map(
    others.map((element) => [foldText(create.elementKeyOf(element) ?? ""), element]),
  );
  const [only] = elements;
  return create.drafts.map((draft) => {
    const element = byKey.get(create.keyOf(draft)) ?? byFolded.get(foldText(create.keyOf(draft)));
    if (element) return readElement(create, element);
    // A refusal may come without its number. With one draft and one element the match is certain.
    const isSingle = create.drafts.length === 1 && elements.length === 1;
    if (isSingle && only && isElementRefused(only)) return refusedBecause(messagesOf(only));
    return unreadable("the answer does not speak of this document", true);
  });
}

function readElement<Draft, Created>(
  create: CreateEach<Draft, Created>,
  element: ExactObject,
): LedgerAnswer<Created> {
  if (isElementRefused(element)) return refusedBecause(messagesOf(element));
  const created = create.read(element);
  return created === undefined
    ? unreadable("the answer about this document cannot be read", true)
    : { kind: "ok", value: created };
}
