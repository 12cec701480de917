/** Starts a person's consent at the ledger. With `--wait` it waits until the consent is used. */
import { LedgerConnectionService } from "../../../../../src/gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import { callJson } from "../../call-json.ts";
import type { Work } from "../../noun.ts";
import type { Json } from "../../output/message-json.ts";
import { poll, waitSeconds } from "../../wait.ts";

const { method } = LedgerConnectionService;

/** The default of `--wait`: as long as the address is valid. */
const defaultWaitSeconds = 600;

/** The interval between two reads: a person takes longer. */
const pollEveryMs = 1_000;

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
  const { organisation = "" } = request;
  const read = () => callJson(connection, method.getLedgerAuthorisation, { organisation });
  return poll(await read(), {
    seconds,
    everyMs: pollEveryMs,
    isPending: ({ status }) => status === "pending",
    read,
  });
}
