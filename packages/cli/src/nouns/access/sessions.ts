/** `billing sessions`: the browsers in which the operator is signed in to the console. ADMIN-17 */
import { SessionService } from "../../../../../src/gen/proto/billing/admin/v1/sessions_pb.ts";
import type { Noun } from "../../noun.ts";

const { method } = SessionService;

/** Lists and ends sessions. */
export const sessions: Noun = {
  name: "sessions",
  summary: "List and end your sessions in the console",
  verbs: [
    {
      name: "get",
      method: method.getSession,
      summary: "Show the operator of this call, and its session if it has one.",
      examples: ["sessions get"],
    },
    {
      name: "list",
      method: method.listSessions,
      summary: "List your sessions, newest first.",
      examples: ["sessions list"],
      columns: ["id", "user_agent", "created", "last_used_at", "idle_ends_at", "ends_at"],
    },
    {
      name: "end",
      method: method.endSession,
      summary: "End one of your sessions. Its browser has to sign in again.",
      examples: ["sessions end 0199a0b2-8888-7000-8000-000000000001"],
      places: ["id"],
    },
    {
      name: "end-all",
      method: method.endAllSessions,
      summary: "End all of your sessions. Their browsers have to sign in again.",
      examples: ["sessions end-all"],
    },
  ],
};
