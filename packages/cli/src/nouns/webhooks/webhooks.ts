/** `billing webhooks`: endpoints that receive events, and the deliveries of each event. */
import { WebhookService } from "../../../../../src/gen/proto/billing/admin/v1/webhooks_pb.ts";
import type { Noun, Verb } from "../../noun.ts";
import { resendAll } from "./resend-all.ts";
import { sendTestEvent } from "./send-test-event.ts";

const { method } = WebhookService;

const endpoint = "0199a0b2-7777-7000-8000-000000000001";
const delivery = "0199a0b2-8888-7000-8000-000000000001";

const description = "what it is, up to 255 characters";

const endpointVerbs: readonly Verb[] = [
  {
    name: "create",
    method: method.createWebhookEndpoint,
    summary:
      "Create an endpoint. Only its signing secret goes to the standard output, shown only once.",
    details:
      "Events are sent to the url: https, on port 443 or 8443, of a host of the public network. " +
      "The " +
      "endpoint is enabled at once and receives all kinds of events unless --kinds names some.",
    examples: [
      "webhooks create https://hooks.example.com/billing > secret.txt",
      "webhooks create https://hooks.example.com/billing --kinds subscription.created,invoice.paid",
    ],
    places: ["url"],
    fields: {
      description,
      kinds: "the kinds of events that it receives, separated by commas; by default all",
    },
  },
  {
    name: "list",
    method: method.listWebhookEndpoints,
    summary: "List endpoints, newest first, enabled and disabled ones unless --status names one.",
    examples: ["webhooks list", "webhooks list --status enabled --json"],
    fields: { status: "only endpoints with this status" },
    columns: [
      "id",
      "url",
      "kinds",
      "status",
      "failures",
      "failing_since",
      "disabled_reason",
      "description",
    ],
  },
  {
    name: "get",
    method: method.getWebhookEndpoint,
    summary: "Show an endpoint.",
    examples: [`webhooks get ${endpoint}`],
    places: ["id"],
  },
  {
    name: "update",
    method: method.updateWebhookEndpoint,
    summary: "Change only the members that are named.",
    examples: [
      `webhooks update ${endpoint} --endpoint-url https://hooks.example.com/v2`,
      `webhooks update ${endpoint} --kinds invoice.paid`,
      `webhooks update ${endpoint} --all-kinds`,
    ],
    places: ["id"],
    fields: {
      description,
      kinds:
        "the kinds of events that it receives, separated by commas; they replace the current ones",
      all_kinds: "it receives all kinds of events",
    },
    // The flag `--url` is already the address of the admin services.
    extra: [{ flags: "--endpoint-url <address>", description: "where events are sent" }],
    withExtra: (request, { endpointUrl }) =>
      typeof endpointUrl === "string" ? { ...request, url: endpointUrl } : request,
    fileFields: ["url"],
    takesFile: true,
  },
  {
    name: "rotate",
    method: method.rotateWebhookSecret,
    summary:
      "Give an endpoint a new signing secret. Only it goes to the standard output, shown only " +
      "once.",
    details:
      "The previous secret signs as well for 24 hours, so that the receiver can change to the " +
      "new " +
      "one. Within that time another rotation has to say which of the two stops at once. Use " +
      "--drop-current if the answer of the last rotation was lost, so that no receiver has its " +
      "secret. Use --drop-previous if the receiver has the newest one. If a secret leaked, " +
      "rotate, " +
      "give the receiver the new secret, and rotate with --drop-previous. Or end it at once with " +
      "--drop-current: deliveries that the receiver refuses are repeated for about 20 hours.",
    examples: [
      `webhooks rotate ${endpoint} --yes > secret.txt`,
      `webhooks rotate ${endpoint} --drop-previous --yes > secret.txt`,
    ],
    places: ["id"],
    fields: {
      drop_previous: "the secret before the last rotation stops signing at once",
      drop_current: "the newest secret stops signing at once, not in 24 hours",
    },
    irreversible: ({ id, drop_previous: previous, drop_current: current }) =>
      `${previous === true ? "The secret before the last rotation stops signing at once. " : ""}` +
      `The current secret of the endpoint ${String(id)} ` +
      `${current === true ? "stops signing at once." : "signs for 24 more hours."}`,
  },
  {
    name: "enable",
    method: method.enableWebhookEndpoint,
    summary: "Enable an endpoint and clear its failures.",
    details: "Events that it missed are not sent automatically: see `webhooks resend-all`.",
    examples: [`webhooks enable ${endpoint}`],
    places: ["id"],
  },
  {
    name: "disable",
    method: method.disableWebhookEndpoint,
    summary: "Disable an endpoint. Nothing more is sent to it.",
    examples: [`webhooks disable ${endpoint} --reason 'Moves to another host'`],
    places: ["id"],
    fields: { reason: "why, 1 to 255 characters; stored with the endpoint" },
  },
];

const deliveryVerbs: readonly Verb[] = [
  {
    name: "test",
    method: method.sendTestEvent,
    summary: "Send an endpoint a test event, whatever its kinds.",
    details:
      "With --wait the command ends after the first attempt and shows the endpoint's answer. It " +
      "exits with 1 if that was no success.",
    examples: [`webhooks test ${endpoint} --wait`, `webhooks test ${endpoint}`],
    places: ["id"],
    extra: [
      {
        flags: "--wait [seconds]",
        description: "wait for the endpoint's answer, by default at most 60 seconds",
      },
    ],
    work: sendTestEvent,
    failed: ({ state }, { wait }) => wait !== undefined && state !== "delivered",
  },
  {
    name: "deliveries",
    method: method.listWebhookDeliveries,
    summary: "List deliveries, newest first, with the outcome of each.",
    examples: [
      "webhooks deliveries --state exhausted",
      `webhooks deliveries --endpoint ${endpoint} --event-type invoice.paid --all`,
      "webhooks deliveries --since 2026-11-20T00:00:00Z",
    ],
    fields: {
      endpoint: "only deliveries to this endpoint",
      state: "only deliveries in this state",
      event_type: "only deliveries of events of this type",
      since: "only deliveries that were created at this time or later",
      until: "only deliveries that were created before this time",
    },
    columns: [
      "id",
      "created",
      "event_type",
      "endpoint",
      "state",
      "attempts",
      "last_status",
      "last_error",
      "finished_at",
    ],
  },
  {
    name: "delivery",
    method: method.getWebhookDelivery,
    summary: "Show a delivery with its attempts, the endpoint's answers and the body that is sent.",
    examples: [`webhooks delivery ${delivery}`, `webhooks delivery ${delivery} --json`],
    places: ["id"],
  },
  {
    name: "resend",
    method: method.resendWebhookDelivery,
    summary: "Send an event again at once, whatever the state of its delivery.",
    details: "The event has the same id, by which receivers recognise it.",
    examples: [`webhooks resend ${delivery}`],
    places: ["id"],
  },
  {
    name: "resend-all",
    method: method.resendWebhookDeliveries,
    summary: "Send an endpoint all events of a time that it has not received.",
    details:
      "These are events whose delivery was exhausted or cancelled, and events of its kinds that " +
      "were " +
      "published while it was disabled or did not exist yet.",
    examples: [
      `webhooks resend-all ${endpoint} --since 2026-11-20T00:00:00Z`,
      `webhooks resend-all ${endpoint} --since 3d --until 1d --kinds invoice.paid`,
      `webhooks resend-all ${endpoint} --since 2026-11-20T00:00:00Z --include-delivered`,
    ],
    places: ["id"],
    fields: {
      since: "events published at this time or later, at most 30 days ago",
      until: "only events published before this time",
      kinds: "only events of these kinds, separated by commas",
      include_delivered: "send delivered events again as well",
      after_event: "only events after this one: continues an interrupted command",
    },
    work: resendAll,
  },
];

/** Manages endpoints, lists deliveries and resends them. */
export const webhooks: Noun = {
  name: "webhooks",
  summary: "Create webhook endpoints, list their deliveries, and send events again",
  verbs: [...endpointVerbs, ...deliveryVerbs],
};
