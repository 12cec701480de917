/**
 * SubscriptionService of the admin API, its previews: the platform's own previews decide, so an
 * operator sees what the platform would, and which events it gets. ADMIN-13, PREVIEW-1, PREVIEW-8
 */
import { create } from "@bufbuild/protobuf";
import type { SubscriptionService } from "../../../gen/proto/billing/admin/v1/subscriptions_pb.ts";
import {
  ChangeUnitsRequestSchema,
  CreateSubscriptionRequestSchema,
  EndSubscriptionRequestSchema,
  GetUpcomingInvoiceRequestSchema,
  RestoreSubscriptionRequestSchema,
} from "../../../gen/proto/billing/v1/subscriptions_pb.ts";
import type { PreviewAnswer } from "../../../services/subscriptions/previews.ts";
import type { Caller } from "../../../transport/rpc/caller.ts";
import { present } from "../../present/present.ts";
import type { AdminCall, AdminDependencies, AdminImplementation } from "../dependencies.ts";
import { openPlatform } from "./open-platform.ts";

type Previews = Pick<
  AdminImplementation<typeof SubscriptionService>,
  | "previewCreateSubscription"
  | "previewChangeUnits"
  | "previewEndSubscription"
  | "previewRestoreSubscription"
  | "getUpcomingInvoice"
>;

/**
 * Implements the previews. They refuse as the methods of `billing.v1` do, and
 * `organisation_not_found`.
 */
export function previewMethods(deps: Pick<AdminDependencies, "store" | "platform">): Previews {
  const states = deps.store.previewedStates;
  // Read before the preview. What changes in between is shown, and refused at the act.
  const stateOf = async ({ organisationId, now }: Caller, id: string) =>
    present("previewedState", await states.subscription(organisationId, id, now));
  return {
    previewCreateSubscription: async ({ $typeName: _, $unknown: __, ...request }, call) => {
      const { platform, platformCall, wanted } = await begin(deps, request, call);
      const platformRequest = create(CreateSubscriptionRequestSchema, wanted);
      const { organisationId, now } = platformCall.caller;
      const previewedState = await states.creation(organisationId, request.customerCode, now);
      const previewed = await platform.previewCreateSubscription(platformRequest, platformCall);
      return { ...shown(previewed), previewedState };
    },
    previewChangeUnits: async ({ $typeName: _, $unknown: __, ...request }, call) => {
      const { platform, platformCall, wanted } = await begin(deps, request, call);
      const platformRequest = create(ChangeUnitsRequestSchema, wanted);
      const state = await stateOf(platformCall.caller, request.id);
      const previewed = await platform.previewChangeUnits(platformRequest, platformCall);
      return { ...shown(previewed), ...state };
    },
    previewEndSubscription: async ({ $typeName: _, $unknown: __, ...request }, call) => {
      const { platform, platformCall, wanted } = await begin(deps, request, call);
      const platformRequest = create(EndSubscriptionRequestSchema, wanted);
      const state = await stateOf(platformCall.caller, request.id);
      const previewed = await platform.previewEndSubscription(platformRequest, platformCall);
      return { ...shown(previewed), ...state };
    },
    previewRestoreSubscription: async ({ $typeName: _, $unknown: __, ...request }, call) => {
      const { platform, platformCall, wanted } = await begin(deps, request, call);
      const platformRequest = create(RestoreSubscriptionRequestSchema, wanted);
      const state = await stateOf(platformCall.caller, request.id);
      const previewed = await platform.previewRestoreSubscription(platformRequest, platformCall);
      return { ...shown(previewed), ...state };
    },
    getUpcomingInvoice: async ({ $typeName: _, $unknown: __, ...request }, call) => {
      const { platform, platformCall, wanted } = await begin(deps, request, call);
      const platformRequest = create(GetUpcomingInvoiceRequestSchema, wanted);
      const { upcomingInvoice } = await platform.getUpcomingInvoice(platformRequest, platformCall);
      return { ...present("upcomingInvoice", upcomingInvoice ?? null) };
    },
  };
}

function shown({ preview, events }: PreviewAnswer) {
  return {
    preview,
    events: events.map(({ type, count, objectIds }) => ({ type, count, objects: [...objectIds] })),
  };
}

/** Opens the platform's methods, and returns the platform's own request. */
async function begin<Request extends { readonly organisation: string }>(
  deps: Pick<AdminDependencies, "store" | "platform">,
  { organisation, ...wanted }: Request,
  call: AdminCall,
) {
  // A preview has no audit entry, and so no reason.
  return {
    ...(await openPlatform(deps, { organisation, reason: "", previewedState: null }, call)),
    wanted,
  };
}
