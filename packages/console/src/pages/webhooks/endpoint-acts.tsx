/** What can be done with an endpoint. */
import { useNavigate } from "@tanstack/react-router";
import { useOrganisation } from "../../data/organisation.tsx";
import { Act } from "../../forms/act.tsx";
import { type Field, isTicked, type Values } from "../../forms/fields.tsx";
import { Secret } from "../../forms/secret.tsx";
import {
  type WebhookEndpoint,
  WebhookEndpointStatus,
  WebhookService,
} from "../../gen/billing/admin/v1/webhooks_pb.ts";

const method = WebhookService.method;

const fieldsOf = (endpoint?: WebhookEndpoint): Field[] => [
  {
    name: "url",
    label: "Address",
    about: "https, reachable from the service.",
    initial: endpoint?.url,
    max: 2_048,
  },
  {
    name: "description",
    label: "Description",
    initial: endpoint?.description,
    isOptional: true,
  },
  {
    name: "kinds",
    label: "Events",
    about: "Kinds apart by commas, such as invoice.paid, invoice.created. All if left out.",
    initial: endpoint?.kinds.join(", "),
    isOptional: true,
    max: 2_000,
  },
];

function membersOf({ url = "", description = "", kinds = "" }: Values) {
  return {
    url: url.trim(),
    description: description.trim(),
    kinds: kinds.split(/[\s,]+/).filter((kind) => kind !== ""),
  };
}

/** A secret, or why there is none: a lost answer is not repeated with it. */
function SecretOf({ secret }: { readonly secret: string }) {
  return secret === "" ? (
    <p>It was done before, and the secret was in an answer that was lost. Rotate the secret.</p>
  ) : (
    <Secret text={secret} what="signing secret" />
  );
}

/** Creates an endpoint. */
export function CreateEndpoint({ isPrimary = true }: { readonly isPrimary?: boolean }) {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label="New endpoint"
      title="New endpoint"
      method={method.createWebhookEndpoint}
      isPrimary={isPrimary}
      fields={fieldsOf()}
      request={(values) => ({ organisation, ...membersOf(values) })}
      effect="Create the endpoint"
      about="Each event is sent to it at once, signed with its secret."
      done="The endpoint was created"
      result={({ secret }) => <SecretOf secret={secret} />}
    />
  );
}

/** Enables an endpoint. */
export function EnableEndpoint({ id }: { readonly id: string }) {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label="Enable"
      title="Enable the endpoint"
      method={method.enableWebhookEndpoint}
      isPrimary
      request={() => ({ organisation, id })}
      effect="Enable it"
      about={
        "Events are sent to it from now on. What happened meanwhile can be sent again " +
        "afterwards."
      }
      done="The endpoint was enabled"
    />
  );
}

/** Sends a test event to an endpoint, and opens its delivery. */
export function SendTestEvent({ id }: { readonly id: string }) {
  const { id: organisation } = useOrganisation();
  const navigate = useNavigate();
  return (
    <Act
      label="Send a test event"
      title="Send a test event"
      method={method.sendTestEvent}
      request={() => ({ organisation, id })}
      effect="Send it"
      about="An event without content, signed as all others. Its delivery says what was answered."
      done="The test event was sent on its way"
      onDone={({ delivery }) =>
        delivery &&
        void navigate({
          to: "/o/$organisation/webhooks/deliveries/$id",
          params: { organisation, id: delivery.id },
        })
      }
    />
  );
}

/** Sends a delivery again. */
export function ResendDelivery({ id }: { readonly id: string }) {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label="Send again"
      title="Send the event again"
      method={method.resendWebhookDelivery}
      request={() => ({ organisation, id })}
      effect="Send it again"
      about="A receiver knows a repeat by the event's id."
      done="The event was sent on its way"
    />
  );
}

/** All acts of the endpoint's page. */
export function EndpointActs({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const { id: organisation, today } = useOrganisation();
  const { id, status, previousSecretUntil } = endpoint;
  const isEnabled = status === WebhookEndpointStatus.ENABLED;
  return (
    <>
      {isEnabled ? <SendTestEvent id={id} /> : <EnableEndpoint id={id} />}
      <Act
        label="Resend"
        title="Send events again"
        method={method.resendWebhookDeliveries}
        fields={[
          { name: "since", label: "Since the day", kind: "day", initial: today },
          { name: "include_delivered", label: "Also what was delivered", kind: "box" },
        ]}
        request={(values) => ({
          organisation,
          id,
          since: values.since ?? "",
          includeDelivered: isTicked(values, "include_delivered"),
        })}
        effect="Send them again"
        done="Events were sent on their way again"
        result={({ resent, added, lastEvent }) => (
          <p>
            {resent} are sent again, and {added} for the first time.
            {lastEvent !== undefined &&
              " There are more: the command line sends all of them, by billing webhooks resend."}
          </p>
        )}
      />
      <Act
        label="Edit"
        title="Edit the endpoint"
        method={method.updateWebhookEndpoint}
        fields={fieldsOf(endpoint)}
        request={(values) => {
          const members = membersOf(values);
          return { organisation, id, ...members, allKinds: members.kinds.length === 0 };
        }}
        effect="Save"
        done="The endpoint was saved"
      />
      <Act
        label="Rotate secret"
        title="Rotate the signing secret"
        method={method.rotateWebhookSecret}
        fields={
          previousSecretUntil === undefined
            ? []
            : [
                {
                  name: "drop",
                  label: "Two secrets sign now. Which stops at once?",
                  choices: [
                    ["previous", "the earlier one: receivers have the newest"],
                    ["current", "the newest one: no receiver has it"],
                  ],
                },
              ]
        }
        request={({ drop }) => ({
          organisation,
          id,
          dropPrevious: drop === "previous",
          dropCurrent: drop === "current",
        })}
        effect="Make a new secret"
        about={
          "The secret of now goes on signing beside the new one for 24 hours, so that " +
          "the receiver can change without a gap."
        }
        done="The secret was rotated"
        result={({ secret }) => <SecretOf secret={secret} />}
      />
      {isEnabled && (
        <Act
          label="Disable"
          title="Disable the endpoint"
          method={method.disableWebhookEndpoint}
          isDangerous
          request={() => ({ organisation, id })}
          effect="Disable it"
          about="Nothing is sent to it any more. What happens meanwhile can be sent again later."
          done="The endpoint was disabled"
        />
      )}
    </>
  );
}
