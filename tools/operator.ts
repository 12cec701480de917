/**
 * `npm run operator -- create-first [NAME]`: creates the first operator, an owner, and prints its
 * token once. It works only while there is no operator. It needs write access to the database
 * (DATABASE_URL, or the embedded one), because no API operation does this (ADMIN-1).
 */
import pg from "pg";
import { withDatabaseUrl } from "../packages/dev/src/postgres/database-url.ts";
import { createFirstOperator } from "../src/store/admin/first-operator.ts";
import { generateOperatorToken } from "../src/transport/rpc/gate/api-key.ts";

const [verb, name = "First operator", ...rest] = process.argv.slice(2);
if (verb !== "create-first" || rest.length > 0 || name.trim() === "" || name.length > 255) {
  console.error("Usage: npm run operator -- create-first [NAME]");
  process.exit(2);
}

const token = generateOperatorToken();
const isCreated = await withDatabaseUrl(
  process.env,
  (line) => console.error(line),
  async (databaseUrl) => {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
    try {
      return await createFirstOperator(pool, name, token);
    } finally {
      await pool.end();
    }
  },
).catch((error: unknown) => {
  const cause = error instanceof Error ? error.message : String(error);
  console.error(`${cause}\nNothing was created. Are the migrations applied (npm run db:migrate)?`);
  process.exit(1);
});
if (isCreated) {
  console.error("The first operator's token, shown this once:");
  console.log(token.value);
} else {
  console.error("There are operators already: an owner creates further ones and their tokens.");
  process.exitCode = 1;
}
