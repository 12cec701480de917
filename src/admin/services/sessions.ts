/** SessionService: the calling operator's sessions in browsers. ADMIN-17 */
import type { SessionService } from "../../gen/proto/billing/admin/v1/sessions_pb.ts";
import { presentOperator, presentSession } from "../present/present.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  required,
} from "./dependencies.ts";

/** Implements the service. Refuses `session_not_found`. */
export function sessionService({
  store: { operators, sessions },
}: AdminDependencies): AdminImplementation<typeof SessionService> {
  return {
    getSession: async (_, { caller }) => {
      const operator = required(await operators.get(caller.operatorId), "operator_not_found");
      const all = await sessions.list(caller.operatorId);
      const current = all.find(({ id }) => id === caller.session?.id);
      return {
        operator: presentOperator(operator),
        ...(current && { session: presentSession(current, caller.session?.id) }),
      };
    },
    listSessions: async (_, { caller }) => {
      const all = await sessions.list(caller.operatorId);
      return { data: all.map((session) => presentSession(session, caller.session?.id)) };
    },
    endSession: async ({ id }, call) => {
      const { operatorId, session } = call.caller;
      const ended = required(
        await sessions.end(actorOf(call), operatorId, id),
        "session_not_found",
      );
      return { session: presentSession(ended, session?.id) };
    },
    endAllSessions: async (_, call) => ({
      ended: await sessions.endAll(actorOf(call), call.caller.operatorId),
    }),
  };
}
