/**
 * `demo-data LEDGER [TEMPORAL-UI]`: creates the first data of an installation for trials, which
 * `npm start` does itself. It creates two organisations on the demo ledger at that address, their
 * keys and an operator, and prints them once. Its settings are those of the API.
 */
import { readConfig } from "../../../src/config.ts";
import { describeFirstData } from "./demo/describe-first-data.ts";
import { createFirstData } from "./demo/first-data.ts";

const [demoLedgerUrl, temporalUiUrl = "not named", ...rest] = process.argv.slice(2);
if (demoLedgerUrl === undefined || rest.length > 0) {
  console.error("Usage: demo-data LEDGER [TEMPORAL-UI], for example http://127.0.0.1:8090");
  process.exit(2);
}
const { admin, api, database, ledger, secretKey } = readConfig(process.env);
if (secretKey === null) {
  console.error("SECRET_KEY is not set.");
  process.exit(1);
}
const data = await createFirstData({
  databaseUrl: database.url,
  demoLedgerUrl,
  secretKey: secretKey.toString("base64"),
});
if (data === null) {
  console.log("The database has organisations already: nothing was created.");
} else {
  const baseUrl = ledger.publicUrl ?? `http://127.0.0.1:${api.port}`;
  const adminUrl = `http://127.0.0.1:${admin.port}`;
  console.log(describeFirstData(data, { baseUrl, adminUrl, temporalUiUrl }));
}
