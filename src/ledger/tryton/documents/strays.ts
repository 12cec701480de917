/**
 * Deletes what a request left that took effect after everybody had given up on it: unfinished
 * drafts of documents and of moves that allocate credit. A person might post them.
 */
import type { BegunCall } from "../../port/call.ts";
import { idOf, instantValue } from "../wire/values.ts";
import type { TrytonWire } from "../wire/wire.ts";
import { creditMark, moveModel } from "./allocate-credit.ts";
import { documentModel, ofCompany } from "./find-documents.ts";
import { unfinishedCondition } from "./link.ts";

/** Longer than any call and its look-up: no attempt needs an older draft. */
const strayMs = 60 * 60_000;

/** The most that one call deletes. The next call continues. */
const maxStrays = 20;

/** Deletes old strays. A failure is left to the next call. */
export async function deleteStrays(wire: TrytonWire, call: BegunCall): Promise<void> {
  const before = instantValue(new Date(Date.now() - strayMs).toISOString());
  const old = [
    ["state", "=", "draft"],
    ["create_date", "<", before],
  ];
  const found = await Promise.all(
    [
      { model: documentModel, domain: [...ofCompany(wire), unfinishedCondition, ...old] },
      {
        model: moveModel,
        domain: [
          ["company", "=", wire.companyId],
          ["description", "like", `${creditMark}%`],
          ...old,
        ],
      },
    ].map(async ({ model, domain }) => {
      const answer = await wire.search(call, model, { domain, fields: ["id"], limit: maxStrays });
      return answer.kind === "ok" ? answer.value.map((one) => ({ model, id: idOf(one) })) : [];
    }),
  );
  for (const { model, id } of found.flat())
    if (id !== undefined) await wire.remove(call, { model, id });
}
