/** `billing api-keys`: the API keys of an organisation. ACCESS-2 */
import { ApiKeyService } from "../../../../../src/gen/proto/billing/admin/v1/api_keys_pb.ts";
import type { Noun } from "../../noun.ts";

const { method } = ApiKeyService;

/** Creates, lists and revokes API keys. */
export const apiKeys: Noun = {
  name: "api-keys",
  summary: "Create, list and revoke keys of the public API",
  verbs: [
    {
      name: "create",
      method: method.createApiKey,
      summary:
        "Create a key. Only its value goes to the standard output, and it is shown only once.",
      examples: [
        "api-keys create --name 'Web shop' --scopes subscriptions:read,subscriptions:write > " +
          "key.txt",
        "api-keys create --name Reports --scopes invoices:read --expires-at 2027-01-01T00:00:00Z",
      ],
      fields: {
        name: "its name",
        scopes:
          "what it may do, separated by commas: customers:read customers:write catalogue:read " +
          "subscriptions:read subscriptions:write invoices:read credit_notes:read usage:write",
        expires_at: "when it expires, RFC 3339; never without this option",
      },
      takesFile: true,
    },
    {
      name: "list",
      method: method.listApiKeys,
      summary: "List keys, newest first, including revoked and expired ones.",
      examples: ["api-keys list", "api-keys list --all --json"],
      columns: ["id", "name", "redacted_value", "status", "scopes", "expires_at", "last_used_at"],
    },
    {
      name: "revoke",
      method: method.revokeApiKey,
      summary: "Revoke a key for good. It is refused from the next request on.",
      examples: ["api-keys revoke 0199a0b2-4444-7000-8000-000000000001 --yes"],
      places: ["id"],
      irreversible: ({ id }) =>
        `The key ${String(id)} is refused from the next request on, for good.`,
    },
  ],
};
