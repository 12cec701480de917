/**
 * `billing operators` and `billing operator-tokens`: who may use the admin API, and with which
 * tokens. ADMIN-1
 */
import { OperatorService } from "../../../../../src/gen/proto/billing/admin/v1/operators_pb.ts";
import type { Noun, Verb } from "../../noun.ts";
import { isObject } from "../../output/message-json.ts";
import { spaced } from "../../output/words.ts";
import { operatorByName } from "../lookups.ts";

const { method } = OperatorService;

/** Shows whose token a call has. It is a command without its noun as well: `billing whoami`. */
export const whoami: Verb = {
  name: "whoami",
  method: method.getCurrentOperator,
  summary: "Show the operator and the token of this call.",
  examples: ["operators whoami", "operators whoami -o json"],
  lines: ({ operator, token }, { terminal, connection }) => {
    const { name = "", role = "" } = isObject(operator) ? operator : {};
    const { name: named = "", redacted_value: shown = "" } = isObject(token) ? token : {};
    const organisation = terminal.env.BILLING_ORGANISATION;
    return [
      `You are ${String(name)}, ${spaced(role)}, by the token ${String(named)} (${String(shown)}).`,
      `The admin API is at ${connection.address}.`,
      organisation ? `The organisation is ${organisation}.` : "No organisation is set.",
    ];
  },
};

/** Creates, lists and changes operators. */
export const operators: Noun = {
  name: "operators",
  summary: "Create operators and change their roles",
  verbs: [
    whoami,
    {
      name: "create",
      method: method.createOperator,
      summary: "Create an operator. It has no token yet.",
      examples: ["operators create --name 'Ada Lovelace' --role admin"],
      fields: {
        name: "its name",
        role: "what it may do; each role includes all rights of the one before it",
      },
    },
    {
      name: "list",
      method: method.listOperators,
      summary: "List operators, newest first, including inactive ones.",
      examples: ["operators list"],
      columns: ["id", "name", "role", "active", "created"],
    },
    {
      name: "update",
      method: method.updateOperator,
      summary: "Change an operator's name, role, or whether it is active.",
      examples: [
        "operators update 0199a0b2-6666-7000-8000-000000000001 --role read-only",
        "operators update Ada --no-active",
      ],
      places: ["id"],
      lookups: { id: operatorByName },
      fields: { name: "its name", role: "what it may do", active: "its tokens are accepted" },
    },
  ],
};

/** Creates, lists and revokes operators' tokens. */
export const operatorTokens: Noun = {
  name: "operator-tokens",
  summary: "Create, list and revoke tokens of operators",
  verbs: [
    {
      name: "create",
      method: method.createOperatorToken,
      summary:
        "Create a token. Only its value goes to the standard output, and it is shown only once.",
      examples: ["operator-tokens create --operator Ada --name Laptop > token.txt"],
      lookups: { operator: operatorByName },
      fields: {
        operator: "the operator's id or name",
        name: "its name, such as the place where it is used",
        expires_at: "when it expires, RFC 3339; never without this option",
      },
    },
    {
      name: "list",
      method: method.listOperatorTokens,
      summary: "List tokens, newest first, including revoked and expired ones.",
      examples: [
        "operator-tokens list",
        "operator-tokens list --operator 0199a0b2-6666-7000-8000-000000000001",
      ],
      lookups: { operator: operatorByName },
      fields: { operator: "only tokens of this operator, by id or name" },
      columns: ["id", "operator", "name", "redacted_value", "status", "expires_at", "last_used_at"],
    },
    {
      name: "revoke",
      method: method.revokeOperatorToken,
      summary: "Revoke a token for good. It is refused from the next request on.",
      examples: ["operator-tokens revoke 0199a0b2-7777-7000-8000-000000000001 --yes"],
      places: ["id"],
      irreversible: ({ id }) =>
        `The token ${String(id)} is refused from the next request on, for good.`,
    },
  ],
};
