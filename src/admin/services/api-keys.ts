/** ApiKeyService: creates, lists and revokes API keys. A key's value is returned once. ACCESS-2 */
import type { ApiKeyService } from "../../gen/proto/billing/admin/v1/api_keys_pb.ts";
import { generateApiKey } from "../../transport/rpc/gate/api-key.ts";
import { presentApiKey } from "../present/present.ts";
import { readExpiry } from "../present/read-values.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  identityOf,
  pageOf,
  required,
  requireOrganisation,
  requireSame,
} from "./dependencies.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, `api_key_not_found`,
 * `invalid_parameter`.
 */
export function apiKeyService(deps: AdminDependencies): AdminImplementation<typeof ApiKeyService> {
  const { apiKeys } = deps.store;
  return {
    createApiKey: async (request, call) => {
      const organisation = await requireOrganisation(deps, request.organisation);
      const now = new Date();
      const expiresAt = readExpiry(request.expiresAt, now);
      const { value, hash, hint } = generateApiKey(organisation.livemode);
      const { created, isNew } = await apiKeys.create(actorOf(call), organisation.id, {
        id: identityOf(call, "api_key"),
        name: request.name,
        hash,
        hint,
        scopes: request.scopes,
        expiresAt,
      });
      requireSame(created.name === request.name);
      return { apiKey: presentApiKey(created, now), value: isNew ? value : "" };
    },
    listApiKeys: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const { data, hasMore } = await apiKeys.list(id, pageOf(request));
      const now = new Date();
      return { data: data.map((key) => presentApiKey(key, now)), hasMore };
    },
    revokeApiKey: async ({ organisation, id }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const key = required(await apiKeys.revoke(actorOf(call), owner.id, id), "api_key_not_found");
      return { apiKey: presentApiKey(key, new Date()) };
    },
  };
}
