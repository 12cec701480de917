/** `billing listen` and `billing events tail`: new events, to a local address or to the screen. */
import { EventService } from "../../../../../src/gen/proto/billing/admin/v1/events_pb.ts";
import {
  newSecret,
  signatureHeader,
  signatureHeaderName,
} from "../../../../../src/webhooks/sign.ts";
import { callJson } from "../../call-json.ts";
import { UsageError } from "../../failures.ts";
import type { Verb, Work } from "../../noun.ts";
import type { Json } from "../../output/message-json.ts";
import { clean } from "../../output/table.ts";
import { minuteOf } from "../../output/words.ts";
import { followEvents } from "./follow-events.ts";

const { method } = EventService;

const fields = {
  type: "only events of this type, such as invoice.paid",
  object: "only events of the object with this id",
  since: "begin with the events that were published at this time or later",
};

const fileFields = ["until", "limit", "starting_after"];

/** Writes each new event as a line. */
export const tail: Verb = {
  name: "tail",
  method: method.listEvents,
  summary: "Show new events as they are published, until Ctrl-C.",
  details: "With -o json each line is an event with the body that endpoints receive.",
  examples: ["events tail", "events tail --type invoice.paid --since 1h -o json"],
  fields,
  fileFields,
  work: tailEvents,
  isStream: true,
};

/** Sends each new event to an address of this machine. */
export const listen: Verb = {
  name: "listen",
  method: method.listEvents,
  also: method.getEvent,
  summary: "Send new events to an address of this machine, signed as webhooks are, until Ctrl-C.",
  details:
    "For developing a receiver. No endpoint is created, and nothing is sent again. Each event " +
    "has the header Billing-Signature, by the secret of --secret-file or a new one that is shown.",
  examples: [
    "listen --forward-to http://127.0.0.1:9000/",
    "listen --forward-to http://localhost:9000/hooks --secret-file secret.txt --since 1h",
  ],
  fields,
  fileFields,
  extra: [
    { flags: "--forward-to <address>", description: "an address of this machine" },
    { flags: "--secret-file <path>", description: "a file with the secret that signs" },
  ],
  work: forwardEvents,
  isStream: true,
};

async function tailEvents(work: Work): Promise<Json> {
  const { terminal, extra } = work;
  const isJson = extra.json === true || extra.output === "json";
  for await (const event of followEvents(work)) {
    const line = isJson
      ? JSON.stringify({ ...event, ...(await bodyOf(work, event)) })
      : lineOf(event);
    terminal.out(`${isJson ? line : clean(line)}\n`);
    await terminal.drained();
  }
  return {};
}

async function forwardEvents(work: Work): Promise<Json> {
  const { terminal, extra } = work;
  const url = localAddress(extra.forwardTo);
  const secret =
    typeof extra.secretFile === "string"
      ? (await terminal.read(extra.secretFile)).trim()
      : newSecret();
  terminal.err(
    typeof extra.secretFile === "string"
      ? `Events go to ${url}, signed with the secret of ${extra.secretFile}.\n`
      : `Events go to ${url}, signed as webhooks are with ${secret}\n`,
  );
  for await (const event of followEvents(work)) {
    const { body } = await bodyOf(work, event);
    terminal.out(`${clean(lineOf(event))}  ${await send(url, secret, String(body))}\n`);
  }
  return {};
}

async function bodyOf({ connection, request }: Work, { id = "" }: Json): Promise<Json> {
  const { organisation = "" } = request;
  const { body = "" } = await callJson(connection, method.getEvent, { organisation, id });
  return { body };
}

/** Returns how the receiver answered: its status, or why there was none. */
async function send(url: string, secret: string, body: string): Promise<string> {
  const seconds = Math.floor(Date.now() / 1_000);
  try {
    const { status } = await fetch(url, {
      method: "POST",
      body,
      headers: {
        "content-type": "application/json; charset=utf-8",
        [signatureHeaderName]: signatureHeader([secret], body, seconds),
      },
      redirect: "manual",
      signal: AbortSignal.timeout(15_000),
    });
    return String(status);
  } catch (error) {
    const { cause } = error as { readonly cause?: { readonly code?: string } };
    return `not received: ${cause?.code ?? (error instanceof Error ? error.message : error)}`;
  }
}

function localAddress(option: unknown): string {
  if (typeof option !== "string")
    throw new UsageError("--forward-to is required: an address of this machine");
  const host = URL.canParse(option) ? new URL(option).hostname : "";
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host);
  if (!isLocal || !/^https?:/.test(option))
    throw new UsageError(`--forward-to takes an address of this machine, not ${option}`);
  return option;
}

const lineOf = ({ created, type, object_id: object, id }: Json) =>
  `${minuteOf(created)}  ${String(type).padEnd(22)}  ${String(object)}  ${String(id)}`;
