/**
 * `npm run credentials`: replaces the API keys and the operator's token that the first `npm start`
 * printed, and prints the new ones with calls to paste. It needs the data folder, so it works on
 * the same machine and for the same user only.
 */
import { describeFirstData } from "./demo/describe-first-data.ts";
import { newCredentials } from "./demo/new-credentials.ts";
import { adminAddressOf, apiAddressOf } from "./processes/api-address.ts";
import { localHost } from "./processes/ports.ts";
import { planOf } from "./stack-plan.ts";

const heading =
  "New API keys and a new operator's token for the admin side. The earlier ones no longer work:";

try {
  const { env } = process;
  const { apiPort, adminPort, temporalUiPort } = planOf(env);
  const data = await newCredentials(env, (line) => console.error(line));
  const where = {
    baseUrl: apiAddressOf(env, apiPort),
    adminUrl: adminAddressOf(env, adminPort),
    temporalUiUrl: temporalUiPort === undefined ? "" : `http://${localHost}:${temporalUiPort}`,
  };
  console.log(describeFirstData(data, where, heading));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
