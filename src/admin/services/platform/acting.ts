/**
 * SubscriptionService of the admin API, its writes: an operator acts on behalf of an organisation's
 * platform. The platform's own methods do the work, with the operator's token in place of the API
 * key, so there is one decision and one order of refusals. ADMIN-13
 */
import { create } from "@bufbuild/protobuf";
import type { SubscriptionService } from "../../../gen/proto/billing/admin/v1/subscriptions_pb.ts";
import {
  ChangeUnitsRequestSchema,
  CreateSubscriptionRequestSchema,
  EndSubscriptionRequestSchema,
  RestoreSubscriptionRequestSchema,
} from "../../../gen/proto/billing/v1/subscriptions_pb.ts";
import { newId } from "../../../store/database/ids.ts";
import { present } from "../../present/present.ts";
import type { AdminCall, AdminDependencies, AdminImplementation } from "../dependencies.ts";
import { openPlatform } from "./open-platform.ts";

type Writes = Pick<
  AdminImplementation<typeof SubscriptionService>,
  "createSubscription" | "changeUnits" | "endSubscription" | "restoreSubscription"
>;

/** A request of an operator, without the fields that the platform's own request does not have. */
interface OperatorRequest {
  readonly organisation: string;
  readonly reason: string;
  readonly previewedState?: string | undefined;
}

/**
 * Implements the writes. They refuse as the methods of `billing.v1` do, and
 * `organisation_not_found`.
 */
export function actingMethods(deps: Pick<AdminDependencies, "store" | "platform">): Writes {
  return {
    createSubscription: async ({ $typeName: _, $unknown: __, ...request }, call) => {
      const { platform, platformCall, wanted } = await begin(deps, request, call);
      // The id of the subscription is derived from the key.
      const keyed = { ...platformCall, idempotencyKey: platformCall.idempotencyKey ?? newId() };
      const platformRequest = create(CreateSubscriptionRequestSchema, wanted);
      const { subscription, invoice } = await platform.createSubscription(platformRequest, keyed);
      return {
        ...present("subscription", subscription ?? null),
        ...present("invoice", invoice ?? null),
      };
    },
    changeUnits: async ({ $typeName: _, $unknown: __, ...request }, call) => {
      const { platform, platformCall, wanted } = await begin(deps, request, call);
      const platformRequest = create(ChangeUnitsRequestSchema, wanted);
      const { subscription, change } = await platform.changeUnits(platformRequest, platformCall);
      return {
        ...present("subscription", subscription ?? null),
        ...present("change", change ?? null),
      };
    },
    endSubscription: async ({ $typeName: _, $unknown: __, ...request }, call) => {
      const { platform, platformCall, wanted } = await begin(deps, request, call);
      const platformRequest = create(EndSubscriptionRequestSchema, wanted);
      const { subscription } = await platform.endSubscription(platformRequest, platformCall);
      return { ...present("subscription", subscription ?? null) };
    },
    restoreSubscription: async ({ $typeName: _, $unknown: __, ...request }, call) => {
      const { platform, platformCall, wanted } = await begin(deps, request, call);
      const platformRequest = create(RestoreSubscriptionRequestSchema, wanted);
      const { subscription } = await platform.restoreSubscription(platformRequest, platformCall);
      return { ...present("subscription", subscription ?? null) };
    },
  };
}

/** Opens the platform's methods for an operator, and returns the platform's own request. */
async function begin<Request extends OperatorRequest>(
  deps: Pick<AdminDependencies, "store" | "platform">,
  { organisation, reason, previewedState, ...wanted }: Request,
  call: AdminCall,
) {
  const opening = { organisation, reason, previewedState: previewedState ?? null };
  return { ...(await openPlatform(deps, opening, call)), wanted };
}
