/** What a new user is shown: addresses, keys, and calls to paste. */
import { type FirstData, firstTry } from "./first-data.ts";

/** The addresses of a running stack. */
export interface StackAddresses {
  readonly baseUrl: string;
  readonly adminUrl: string;
  readonly temporalUiUrl: string;
}

/** The line above the keys of a first start. */
const shownOnce = "Shown this once, the API keys and the operator's token for the admin side:";

/** Returns the text for a new user: the keys under `heading`, and calls to paste. */
export function describeFirstData(
  data: FirstData,
  where: StackAddresses,
  heading = shownOnce,
): string {
  const { baseUrl, adminUrl, temporalUiUrl } = where;
  const body = '{"customer_code":"ACME","plan_code":"team","units":10}';
  const event =
    `{"event_id":"call-1","subscription":"${data.subscriptionId}",` +
    `"meter_code":"api-calls","quantity":1500`;
  // Over TLS the client and the server negotiate HTTP/2.
  const priorKnowledge = new URL(baseUrl).protocol === "https:" ? "" : " --http2-prior-knowledge";
  return `
Base URL      ${baseUrl}
Admin URL     ${adminUrl}
Temporal UI   ${temporalUiUrl}
OpenAPI       ${baseUrl}/v1/openapi.json
Documentation ${baseUrl}/docs, for operators ${adminUrl}/docs

${heading}
  live      ${data.liveKey}
  sandbox   ${data.testKey}
  operator  ${data.operatorToken ?? "created by an earlier start"}

Create a subscription, and read its invoice:

  curl -s ${baseUrl}/v1/subscriptions \\
    -H 'Authorization: Bearer ${data.liveKey}' \\
    -H 'Content-Type: application/json' -H 'Idempotency-Key: ${firstTry}' \\
    -d '${body}'

  curl -s '${baseUrl}/v1/invoices?limit=1' -H 'Authorization: Bearer ${data.liveKey}'

Report what it used; it is billed when the period ends:

  curl -s ${baseUrl}/v1/usage_events \\
    -H 'Authorization: Bearer ${data.liveKey}' -H 'Content-Type: application/json' \\
    -d '{"events":[${event},"timestamp":"'$(date -u +%FT%TZ)'"}]}'

The same over gRPC:

  npx buf curl --protocol grpc${priorKnowledge} \\
    -H 'Authorization: Bearer ${data.liveKey}' -H 'Idempotency-Key: second-try' \\
    -d '${body}' \\
    ${baseUrl}/billing.v1.SubscriptionService/CreateSubscription
`;
}
