/** Starts a person's consent at the ledger. With `--wait` it waits until the consent is used. */
import { setTimeout as wait } from "node:timers/promises";
import { LedgerConnectionService } from "../../gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import type { Json } from "./message-json.ts";
import type { Work } from "./noun.ts";
import { callJson } from "./run-verb.ts";
import { waitSeconds } from "./wait-seconds.ts";

const { method } = LedgerConnectionService;

/** The default of `--wait`: as long as the address is valid. */
const defaultWaitSeconds = 600;

/** The interval between two reads: a person takes longer. */
const readEveryMs = 1_000;

/**
 * Starts the consent and returns its address. With `--wait` it writes the address at once, and
 * returns the outcome or the progress so far.
 */
export async function authoriseLedger({
  terminal,
  connection,
  request,
  extra,
}: Work): Promise<Json> {
  const seconds = waitSeconds(extra.wait, defaultWaitSeconds);
  const begun = await callJson(connection, method.beginLedgerAuthorisation, request);
  if (seconds === null) return begun;
  terminal.err(`Open this in a browser:\n${String(begun.url)}\n`);
  const end = performance.now() + seconds * 1000;
  const read = () =>
    callJson(connection, method.getLedgerAuthorisation, {
      organisation: request.organisation ?? "",
    });
  let authorisation = await read();
  while (authorisation.status === "pending" && performance.now() < end) {
    await wait(readEveryMs);
    authorisation = await read();
  }
  return authorisation;
}
