/** `billing webhooks`: endpoints that receive events, and the deliveries of each event. */
import { WebhookService } from "../../../../gen/proto/billing/admin/v1/webhooks_pb.ts";
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
      "Create an endpoint; its signing secret stands alone on the standard output, this once.",
    details:
      "Events are sent to the url: https, on port 443 or 8443, of a host of the public network. It is enabled at once, and told all " +
      "kinds of events unless some are given.",
    examples: [
      "webhooks create https://hooks.example.com/billing > secret.txt",
      "webhooks create https://hooks.example.com/billing --kinds subscription.created,subscription.ended",
    ],
    places: ["url"],
    fields: {
      description,
      kinds: "the kinds of events that it is told, with commas; all if left out",
    },
  },
  {
    name: "list",
    method: method.listWebhookEndpoints,
    summary: "List endpoints, newest first, enabled and disabled ones unless a status is given.",
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
    summary: "Change an endpoint: what is given, nothing else.",
    examples: [
      `webhooks update ${endpoint} --endpoint-url https://hooks.example.com/v2`,
      `webhooks update ${endpoint} --kinds invoice.paid`,
      `webhooks update ${endpoint} --all-kinds`,
    ],
    places: ["id"],
    fields: {
      description,
      kinds: "the kinds of events that it is told, with commas, in the place of those it has",
      all_kinds: "tell it all kinds of events",
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
      "Give an endpoint a new signing secret, which stands alone on the standard output, this once.",
    details:
      "The secret before it signs as well for 24 hours: time for the receiver to change to the new one. Within that time another rotation " +
      "says which of the two stops at once: --drop-current where the answer of the last one was lost and nobody has its secret, " +
      "--drop-previous where the receiver has the newest one. Where a secret leaked: rotate, give the receiver the new one, and rotate with " +
      "--drop-previous; or, without waiting for the receiver, with --drop-current: what it refuses meanwhile is sent again for about 20 hours.",
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
      `The secret that the endpoint ${String(id)} has now ${current === true ? "stops signing at once." : "signs for 24 hours more, and no longer."}`,
  },
  {
    name: "enable",
    method: method.enableWebhookEndpoint,
    summary: "Enable an endpoint, and forget its failures.",
    details: "What it missed is not sent by itself: see webhooks resend-all.",
    examples: [`webhooks enable ${endpoint}`],
    places: ["id"],
  },
  {
    name: "disable",
    method: method.disableWebhookEndpoint,
    summary: "Disable an endpoint: nothing is sent to it any more.",
    examples: [`webhooks disable ${endpoint} --reason 'Moves to another host'`],
    places: ["id"],
    fields: { reason: "why, 1 to 255 characters; kept with the endpoint" },
  },
];

const deliveryVerbs: readonly Verb[] = [
  {
    name: "test",
    method: method.sendTestEvent,
    summary: "Send an endpoint a test event, whatever kinds it takes.",
    details:
      "With --wait the command ends when the endpoint was asked once, and shows what it answered: with 1 where that was no success.",
    examples: [`webhooks test ${endpoint} --wait`, `webhooks test ${endpoint}`],
    places: ["id"],
    extra: [
      {
        flags: "--wait [seconds]",
        description: "wait for what it answers, 60 seconds at most if none are given",
      },
    ],
    work: sendTestEvent,
    failed: ({ state }, { wait }) => wait !== undefined && state !== "delivered",
  },
  {
    name: "deliveries",
    method: method.listWebhookDeliveries,
    summary: "List deliveries, newest first: what became of each event on its way to an endpoint.",
    examples: [
      "webhooks deliveries --state exhausted",
      `webhooks deliveries --endpoint ${endpoint} --event-type invoice.paid --since 2026-11-20T00:00:00Z --all`,
    ],
    fields: {
      endpoint: "only those to this endpoint",
      state: "only those in this state",
      event_type: "only those of events of this type",
      since: "only those made at this instant or later, RFC 3339",
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
    summary:
      "Show a delivery with its attempts, what the endpoint answered to each, and the body that is sent.",
    examples: [`webhooks delivery ${delivery}`, `webhooks delivery ${delivery} --json`],
    places: ["id"],
  },
  {
    name: "resend",
    method: method.resendWebhookDelivery,
    summary: "Send an event again at once, in whatever state its delivery is.",
    details: "It has the same id, by which receivers know it.",
    examples: [`webhooks resend ${delivery}`],
    places: ["id"],
  },
  {
    name: "resend-all",
    method: method.resendWebhookDeliveries,
    summary: "Send an endpoint every event since an instant that it has not had.",
    details:
      "Those are events whose delivery was given up, and events of its kinds that were told while it was disabled or not there yet.",
    examples: [
      `webhooks resend-all ${endpoint} --since 2026-11-20T00:00:00Z`,
      `webhooks resend-all ${endpoint} --since 2026-11-20T00:00:00Z --include-delivered`,
    ],
    places: ["id"],
    fields: {
      since: "events told at this instant or later, RFC 3339; at most 30 days ago",
      include_delivered: "send those that were delivered as well",
      after_event: "only those after this event: where a command that was broken off goes on",
    },
    work: resendAll,
  },
];

/** Manages endpoints, lists deliveries and resends them. */
export const webhooks: Noun = {
  name: "webhooks",
  summary: "Make webhook endpoints, look at what is delivered to them, and send it again",
  verbs: [...endpointVerbs, ...deliveryVerbs],
};
