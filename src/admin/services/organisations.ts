/**
 * OrganisationService of the admin API: organisations, their settings and Setup Mode. SETUP-4,
 * DOCUMENT-6
 */
import { strict as assert } from "node:assert";
import { requireNothingInTheWay } from "../../domain/billing/setup-mode.ts";
import type { OrganisationService } from "../../gen/proto/billing/admin/v1/organisations_pb.ts";
import { wordOf } from "../../present/enums.ts";
import { firstInvoiceStatuses } from "../present/enums.ts";
import { presentOrganisation } from "../present/present.ts";
import { requireCurrency } from "../present/read-values.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  identityOf,
  pageOf,
  required,
  requireSame,
} from "./dependencies.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, and `invalid_parameter` for an unknown
 * currency. A switch of Setup Mode is refused with `invalid_state` if too much is due before it, or
 * if it would interrupt running work.
 */
export function organisationService({
  store,
  wake,
}: Pick<AdminDependencies, "store" | "wake">): AdminImplementation<typeof OrganisationService> {
  const { organisations } = store;
  return {
    createOrganisation: async (request, call) => {
      requireCurrency(request.defaultCurrency, "default_currency");
      const organisation = await organisations.create(actorOf(call), {
        ...request,
        firstInvoiceStatus: wordOf(firstInvoiceStatuses, request.firstInvoiceStatus) ?? undefined,
        id: identityOf(call, "organisation"),
        livemode: request.livemode ?? true,
      });
      requireSame(organisation.name === request.name);
      return { organisation: presentOrganisation(organisation) };
    },
    getOrganisation: async ({ id }) => {
      const organisation = required(await organisations.get(id), "organisation_not_found");
      return { organisation: presentOrganisation(organisation) };
    },
    listOrganisations: async (request) => {
      const { data, hasMore } = await organisations.list(request.name ?? null, pageOf(request));
      return { data: data.map(presentOrganisation), hasMore };
    },
    updateOrganisation: async (request, call) => {
      requireCurrency(request.defaultCurrency, "default_currency");
      const firstInvoiceStatus = wordOf(firstInvoiceStatuses, request.firstInvoiceStatus);
      const changes = { ...request, firstInvoiceStatus: firstInvoiceStatus ?? undefined };
      const organisation = await organisations.update(actorOf(call), request.id, changes);
      return {
        organisation: presentOrganisation(required(organisation, "organisation_not_found")),
      };
    },
    previewSetSetupMode: async ({ id, setupMode }) => {
      assert(setupMode !== undefined, "setup_mode is validated");
      const preview = required(
        await organisations.previewSetupMode(id, setupMode),
        "organisation_not_found",
      );
      return {
        ...effectsOf(preview.changed, setupMode),
        unbilledSubscriptions: await organisations.countUnbilled(id),
        dueSubscriptions: preview.due,
        previewedState: preview.previewedState,
      };
    },
    setSetupMode: async ({ id, setupMode, previewedState }, call) => {
      assert(setupMode !== undefined, "setup_mode is validated");
      const tenant = store.tenant(id, actorOf(call), previewedState);
      // The mode in which a period begins decides whether it is ever billed. SETUP-3
      const isSwitch = (found: { readonly setupMode: boolean }) => found.setupMode !== setupMode;
      const billing = { isNeeded: isSwitch, onIssued: () => wake(id) };
      const outcome = await tenant.onCurrentOrganisation(billing, async (tx, found) => {
        const before = required(found, "organisation_not_found");
        const to = setupMode ? "on" : "off";
        if (isSwitch(before)) requireNothingInTheWay(await tx.organisation.loadObstacles(to));
        const after = await tx.organisation.save(before, { setupMode });
        return { organisation: after, changed: isSwitch(before) };
      });
      return {
        organisation: presentOrganisation(outcome.organisation),
        ...effectsOf(outcome.changed, setupMode),
        unbilledSubscriptions: await organisations.countUnbilled(id),
      };
    },
  };
}

function effectsOf(changed: boolean, setupMode: boolean) {
  return { changed, effects: changed ? [...(setupMode ? effectsOn : effectsOff)] : [] };
}

/** The effects of turning Setup Mode on. SETUP-1, SETUP-2, SETUP-3 */
const effectsOn = [
  "Creating a subscription issues no invoice, and its start date cannot be in the future.",
  "Changing units is refused.",
  "Ending a subscription with invoice removal is refused. Nothing is changed in the ledger.",
  "Periods that begin from now on are never billed, also not after Setup Mode is off.",
  "Amounts that are deferred to a renewal during Setup Mode are billed once it is off.",
  "Held credit is not allocated, failed documents are not retried, and none is adopted.",
] as const;

/** The effects of turning Setup Mode off. SETUP-3 */
const effectsOff = [
  "Creating a subscription issues its first invoice.",
  "Units can be changed, and an end can remove invoices.",
  "Running subscriptions are billed from their next period on.",
  "Periods that began in Setup Mode stay unbilled.",
  "Deferred amounts of those periods are billed with the next renewal, or at completion.",
  "Held credit is allocated again.",
] as const;
