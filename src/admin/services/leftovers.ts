/**
 * BillingService: lists what faults of earlier versions left of an organisation's money, and puts
 * it right. ADMIN-16
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { checkNothingRuns } from "../../domain/model/billing-state.ts";
import { Refusal } from "../../domain/refusal.ts";
import type {
  BillingService,
  LeftoverSchema,
} from "../../gen/proto/billing/admin/v1/billing_pb.ts";
import type { Leftover } from "../../store/admin/leftovers/list-leftovers.ts";
import { leftoverKinds } from "../present/enums.ts";
import { membersOf, presentIssued } from "../present/present.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  pageOf,
  required,
  requireOrganisation,
} from "./dependencies.ts";

/**
 * Implements the methods. They refuse `organisation_not_found`, and `invalid_state` as the contract
 * says.
 */
export function leftoverMethods(deps: Pick<AdminDependencies, "store" | "wake">) {
  const { billing } = deps.store;
  return {
    listLeftovers: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const { data, hasMore } = await billing.listLeftovers(id, pageOf(request));
      return { data: data.map(presentLeftover), hasMore };
    },
    mendLeftover: async ({ organisation, id, reason }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const { subscriptionId } = requireLeft(await billing.findLeftover(owner.id, id));
      const tenant = deps.store.tenant(owner.id, actorOf(call));
      const mended = await tenant.onSubscription(subscriptionId, async (tx, found, locked) => {
        const state = required(found, "subscription_not_found");
        checkNothingRuns(state);
        const leftover = requireLeft(await tx.leftovers.find(id));
        if (state.organisation.setupMode) throw inSetupMode();
        const documents = await tx.leftovers.mend({ leftover, state, locked }, reason);
        return { leftover, documents };
      });
      await deps.wake(owner.id);
      return {
        leftover: presentLeftover(mended.leftover),
        documents: mended.documents.map(presentIssued),
      };
    },
  } satisfies Partial<AdminImplementation<typeof BillingService>>;
}

function requireLeft(leftover: Leftover | null): Leftover {
  if (leftover !== null) return leftover;
  throw new Refusal("invalid_state", "There is no leftover with this id, or it is put right.");
}

function inSetupMode(): Refusal {
  const message = "The organisation is in Setup Mode: no document is issued.";
  return new Refusal("invalid_state", message);
}

function presentLeftover(leftover: Leftover): MessageInitShape<typeof LeftoverSchema> {
  return {
    ...membersOf(leftover),
    kind: leftoverKinds[leftover.kind],
    subscription: leftover.subscriptionId,
    summary: summaryOf(leftover),
  };
}

function summaryOf({ kind, numbers }: Leftover): string {
  const [wrong = "", other = ""] = numbers;
  switch (kind) {
    case "unbilled_amendment":
      return `The ledger refused a change of invoice ${wrong}. Nothing bills it.`;
    case "end_without_counterpart":
      return `An end issued ${wrong} to take back ${other}, which the ledger does not have.`;
    case "removed_stands":
      return `An end removed invoice ${wrong}, which counted again when the ledger forgot it.`;
    case "setup_mode_usage":
      return "Usage of the first period was billed, which began in Setup Mode.";
    case "unbilled_increase":
      return `Units rose after invoice ${wrong} was removed by hand. Its period bills none.`;
  }
}
