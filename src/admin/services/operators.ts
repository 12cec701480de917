/** OperatorService: operators, their roles and their tokens. ADMIN-1 */
import { Refusal } from "../../domain/refusal.ts";
import type { OperatorService } from "../../gen/proto/billing/admin/v1/operators_pb.ts";
import { wordOf } from "../../present/enums.ts";
import { generateOperatorToken } from "../../transport/rpc/gate/api-key.ts";
import { roles } from "../present/enums.ts";
import { presentOperator, presentToken } from "../present/present.ts";
import { readExpiry } from "../present/read-values.ts";
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
 * Implements the service. Refuses `operator_not_found`, `operator_token_not_found`,
 * `invalid_state`, `invalid_parameter`.
 */
export function operatorService({
  store,
}: AdminDependencies): AdminImplementation<typeof OperatorService> {
  const { operators } = store;
  return {
    getCurrentOperator: async (_, { caller }) => ({
      operator: presentOperator(
        required(await operators.get(caller.operatorId), "operator_not_found"),
      ),
      token: presentToken(
        required(await operators.getToken(caller.tokenId), "operator_token_not_found"),
        new Date(),
      ),
    }),
    createOperator: async ({ name, role }, call) => {
      const id = identityOf(call, "operator");
      const created = await operators.create(actorOf(call), {
        id,
        name,
        role: wordOf(roles, role) ?? "read-only",
      });
      requireSame(created.name === name);
      return { operator: presentOperator(created) };
    },
    listOperators: async (request) => {
      const { data, hasMore } = await operators.list(pageOf(request));
      return { data: data.map(presentOperator), hasMore };
    },
    updateOperator: async ({ id, name, role, active }, call) => {
      const changes = { name, role: wordOf(roles, role) ?? undefined, active };
      const operator = await operators.update(actorOf(call), id, changes);
      return { operator: presentOperator(required(operator, "operator_not_found")) };
    },
    createOperatorToken: async (request, call) => {
      const now = new Date();
      const expiresAt = readExpiry(request.expiresAt, now);
      const operator = required(await operators.get(request.operator), "operator_not_found");
      if (!operator.active) throw new Refusal("invalid_state", "The operator is not active.");
      const { value, hash, hint } = generateOperatorToken();
      const id = identityOf(call, "operator_token");
      const token = { id, name: request.name, hash, hint, expiresAt };
      const { created, isNew } = await operators.createToken(actorOf(call), operator.id, token);
      requireSame(created.name === request.name && created.operatorId === operator.id);
      return { token: presentToken(created, now), value: isNew ? value : "" };
    },
    listOperatorTokens: async (request) => {
      const owner =
        request.operator === undefined
          ? null
          : required(await operators.get(request.operator), "operator_not_found");
      const { data, hasMore } = await operators.listTokens(owner?.id ?? null, pageOf(request));
      const now = new Date();
      return { data: data.map((token) => presentToken(token, now)), hasMore };
    },
    revokeOperatorToken: async ({ id }, call) => {
      const token = required(
        await operators.revokeToken(actorOf(call), id),
        "operator_token_not_found",
      );
      return { token: presentToken(token, new Date()) };
    },
  };
}
