/**
 * The address that signs in to the console on this machine. The code is in the fragment, which no
 * browser sends, so it gets into no log of a server.
 */
import pg from "pg";
import { newSessionValue } from "../../../../src/main/console/session-endpoint.ts";
import { addSignInCode } from "../../../../src/store/access/console-sessions.ts";
import { hashApiKey } from "../../../../src/transport/rpc/gate/api-key.ts";

/** Returns the lines for a user: the console's address, and a link with a code that works once. */
export async function consoleLines(databaseUrl: string, adminUrl: string): Promise<string> {
  const code = newSessionValue();
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  try {
    const isAdded = await addSignInCode(pool, hashApiKey(code));
    const link = isAdded
      ? `${adminUrl}/console/sign-in#code=${code} (once, within ten minutes)`
      : "with an operator's token; `npm run credentials` creates one";
    return `\nConsole       ${adminUrl}/console\nSign in       ${link}`;
  } finally {
    await pool.end();
  }
}
