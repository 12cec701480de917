/**
 * SubscriptionService of the admin API, its writes and previews: an operator acts on behalf of an
 * organisation's platform. The platform's own methods do the work, with the operator's token in
 * place of the API key, so there is one decision and one order of refusals. ADMIN-13, PREVIEW-1,
 * PREVIEW-8
 */
import { create, type Message } from "@bufbuild/protobuf";
import type { SubscriptionService } from "../../../gen/proto/billing/admin/v1/subscriptions_pb.ts";
import {
  ChangeUnitsRequestSchema,
  CreateSubscriptionRequestSchema,
  EndSubscriptionRequestSchema,
  GetUpcomingInvoiceRequestSchema,
  RestoreSubscriptionRequestSchema,
} from "../../../gen/proto/billing/v1/subscriptions_pb.ts";
import type { PreviewAnswer } from "../../../services/subscriptions/previews.ts";
import { newId } from "../../../store/database/ids.ts";
import type { Call, Caller } from "../../../transport/rpc/caller.ts";
import {
  type AdminCall,
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  nowOf,
  requireOrganisation,
} from "../dependencies.ts";

type Dependencies = Pick<AdminDependencies, "store" | "platform">;

type Methods = Partial<AdminImplementation<typeof SubscriptionService>>;

/**
 * Implements the writes. They refuse as the methods of `billing.v1` do, and
 * `organisation_not_found`.
 */
export function actingMethods(deps: Dependencies) {
  return {
    createSubscription: async (request, call) => {
      const { platform, platformCall, wanted } = await open(deps, request, call);
      // The id of the subscription is derived from the key.
      const keyed = { ...platformCall, idempotencyKey: platformCall.idempotencyKey ?? newId() };
      const platformRequest = create(CreateSubscriptionRequestSchema, wanted);
      const { subscription, invoice } = await platform.createSubscription(platformRequest, keyed);
      return { subscription, invoice };
    },
    changeUnits: async (request, call) => {
      const { platform, platformCall, wanted } = await open(deps, request, call);
      const platformRequest = create(ChangeUnitsRequestSchema, wanted);
      const { subscription, change } = await platform.changeUnits(platformRequest, platformCall);
      return { subscription, change };
    },
    endSubscription: async (request, call) => {
      const { platform, platformCall, wanted } = await open(deps, request, call);
      const platformRequest = create(EndSubscriptionRequestSchema, wanted);
      const { subscription } = await platform.endSubscription(platformRequest, platformCall);
      return { subscription };
    },
    restoreSubscription: async (request, call) => {
      const { platform, platformCall, wanted } = await open(deps, request, call);
      const platformRequest = create(RestoreSubscriptionRequestSchema, wanted);
      const { subscription } = await platform.restoreSubscription(platformRequest, platformCall);
      return { subscription };
    },
  } satisfies Methods;
}

/**
 * Implements the previews. They refuse as the methods of `billing.v1` do, and
 * `organisation_not_found`. A preview has no audit entry, and so no reason.
 */
export function previewMethods(deps: Dependencies) {
  const states = deps.store.previewedStates;
  // Read before the preview. What changes in between is shown, and refused at the act.
  const stateOf = async ({ organisationId, now }: Caller, id: string) =>
    (await states.subscription(organisationId, id, now)) ?? "";
  return {
    previewCreateSubscription: async (request, call) => {
      const { platform, platformCall, wanted } = await open(deps, request, call);
      const platformRequest = create(CreateSubscriptionRequestSchema, wanted);
      const { organisationId, now } = platformCall.caller;
      const previewedState = await states.creation(organisationId, request.customerCode, now);
      const previewed = await platform.previewCreateSubscription(platformRequest, platformCall);
      return { ...shown(previewed), previewedState };
    },
    previewChangeUnits: async (request, call) => {
      const { platform, platformCall, wanted } = await open(deps, request, call);
      const platformRequest = create(ChangeUnitsRequestSchema, wanted);
      const previewedState = await stateOf(platformCall.caller, request.id);
      const previewed = await platform.previewChangeUnits(platformRequest, platformCall);
      return { ...shown(previewed), previewedState };
    },
    previewEndSubscription: async (request, call) => {
      const { platform, platformCall, wanted } = await open(deps, request, call);
      const platformRequest = create(EndSubscriptionRequestSchema, wanted);
      const previewedState = await stateOf(platformCall.caller, request.id);
      const previewed = await platform.previewEndSubscription(platformRequest, platformCall);
      return { ...shown(previewed), previewedState };
    },
    previewRestoreSubscription: async (request, call) => {
      const { platform, platformCall, wanted } = await open(deps, request, call);
      const platformRequest = create(RestoreSubscriptionRequestSchema, wanted);
      const previewedState = await stateOf(platformCall.caller, request.id);
      const previewed = await platform.previewRestoreSubscription(platformRequest, platformCall);
      return { ...shown(previewed), previewedState };
    },
    getUpcomingInvoice: async (request, call) => {
      const { platform, platformCall, wanted } = await open(deps, request, call);
      const platformRequest = create(GetUpcomingInvoiceRequestSchema, wanted);
      const { upcomingInvoice } = await platform.getUpcomingInvoice(platformRequest, platformCall);
      return { upcomingInvoice };
    },
  } satisfies Methods;
}

function shown({ preview, events }: PreviewAnswer) {
  return {
    preview,
    events: events.map(({ type, count, objectIds }) => ({ type, count, objects: [...objectIds] })),
  };
}

/** A request of an operator. The others are the members of the platform's own request. */
interface OperatorRequest extends Message {
  readonly organisation: string;
  readonly reason?: string;
  readonly previewedState?: string | undefined;
}

/**
 * Returns the platform's methods for an operator, and the request and the call as they take them.
 * Refuses `organisation_not_found`.
 */
async function open<Request extends OperatorRequest>(
  deps: Dependencies,
  request: Request,
  call: AdminCall,
) {
  const { $typeName: _, $unknown: __, organisation, reason = "", ...more } = request;
  const { previewedState = null, ...wanted } = more;
  const owner = await requireOrganisation(deps, organisation);
  const platformCall: Call = {
    ...call,
    caller: {
      apiKeyId: call.caller.tokenId,
      organisationId: owner.id,
      scopes: new Set(),
      livemode: owner.livemode,
      canCreateLedgerContacts: owner.canCreateLedgerContacts,
      usageAllowed: owner.usageAllowed,
      now: nowOf(owner),
    },
  };
  const platform = deps.platform({ actor: actorOf(call), reason, previewedState });
  return { platform, platformCall, wanted };
}
