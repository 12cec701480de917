/** Retries a document. With `--wait` it waits for the ledger's decision. */
import { DocumentService } from "../../../../../src/gen/proto/billing/admin/v1/documents_pb.ts";
import { callJson } from "../../call-json.ts";
import type { Work } from "../../noun.ts";
import type { Json } from "../../output/message-json.ts";
import { poll, waitSeconds } from "../../wait.ts";

const { method } = DocumentService;

/** The default of `--wait`: several attempts of the worker. */
const defaultWaitSeconds = 60;

/** The interval between two reads. The ledger mostly decides within a second or two. */
const pollEveryMs = 500;

/**
 * Retries the document and returns it as it is then. With `--wait` it returns the document once the
 * ledger has decided or the time is up.
 */
export async function retryDocument({ terminal, connection, request, extra }: Work): Promise<Json> {
  const seconds = waitSeconds(extra.wait, defaultWaitSeconds);
  const document = await callJson(connection, method.retryDocument, request);
  if (seconds === null) return document;
  const { organisation = "", id = "" } = request;
  terminal.err("Waiting for the ledger …\n");
  return poll(document, {
    seconds,
    everyMs: pollEveryMs,
    isPending: ({ state }) => state === "waiting",
    read: () => callJson(connection, method.getDocument, { organisation, id }),
  });
}
