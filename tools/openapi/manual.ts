/** The document's texts that belong to no operation. */

/** The first page of the manual, as Markdown. */
export const introduction = `Subscription billing over an accounting ledger: create subscriptions \
for customers against plans, read invoices and credit notes, report metered usage. Subscriptions \
are the object that this interface writes; plans, charges and customers are managed in the \
service's own application.

**Authentication.** Every request carries \`Authorization: Bearer <API_KEY>\`. A key belongs to \
one organisation, sees nothing of another, and carries the scopes that each operation names.

**Requests and responses** are JSON; a request with a body carries \`Content-Type: \
application/json\`. Unknown members and query parameters are refused. Decimal amounts are strings \
with four decimal places, such as \`19.9900\`. Dates (\`YYYY-MM-DD\`) are in the subscription's \
timezone. Responses may gain members in later versions.

**Idempotency.** With the header \`Idempotency-Key\` a \`POST\` can be retried without doing \
anything twice: only a success is stored, for 24 hours. Retry timeouts, \`429\`, \`500\` and \
\`502\` with the same key and body, backing off.

**Lists** return the newest first. Pass the \`id\` of the last object as \`starting_after\` to \
get the next page while \`has_more\` is \`true\`.

**Events.** Endpoints that were registered in the application are sent what changed, about once a \
minute: see \`webhooks\` and the schema \`Event\`. Check the signature, de-duplicate on \`id\`, \
and answer within 15 seconds. \`GET /v1/events\` reads them back for 30 days.

**Errors** have the form of the schema \`ErrorEnvelope\`. Branch on \`code\`, never on \`message\`.
[Each code has a page](/docs/errors): what it means, what to do, whether to retry.

**Limits.** 120 requests a minute for each key; a request body has at most 1 MiB.

The paths also answer below \`/api\`. This document needs no key and is served at \
\`/v1/openapi.json\` and, as YAML, at \`/v1/openapi.yaml\`.`;

/** The description of the security scheme. */
export const securityDescription =
  "An API key, created in the application: `Authorization: Bearer <API_KEY>`. Each operation " +
  "names the scope that the key must carry.";
