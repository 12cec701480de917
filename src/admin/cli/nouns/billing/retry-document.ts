/** Retries a document. With `--wait` it waits for the ledger's decision. */
import { setTimeout as wait } from "node:timers/promises";
import { DocumentService } from "../../../../gen/proto/billing/admin/v1/documents_pb.ts";
import type { Work } from "../../noun.ts";
import type { Json } from "../../output/message-json.ts";
import { callJson } from "../../run-verb.ts";
import { waitSeconds } from "../../wait-seconds.ts";

const { method } = DocumentService;

/** The default of `--wait`: several attempts of the worker. */
const defaultWaitSeconds = 60;

/** The interval between two reads. The ledger mostly decides within a second or two. */
const lookEveryMs = 500;

/**
 * Retries the document and returns it as it is then. With `--wait` it returns the document once the
 * ledger has decided or the time is up.
 */
export async function retryDocument({ terminal, connection, request, extra }: Work): Promise<Json> {
  const seconds = waitSeconds(extra.wait, defaultWaitSeconds);
  let document = await callJson(connection, method.retryDocument, request);
  if (seconds === null) return document;
  const { organisation, id } = request;
  const end = performance.now() + seconds * 1000;
  terminal.err("Waiting for the ledger …\n");
  while (document.state === "waiting" && performance.now() < end) {
    await wait(lookEveryMs);
    document = await callJson(connection, method.getDocument, {
      organisation: organisation ?? "",
      id: id ?? "",
    });
  }
  return document;
}
