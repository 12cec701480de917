/**
 * Presents records and domain values as messages of the admin contract. A message takes the members
 * that its contract has, and no others.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { describeDrift } from "../../domain/ledger/drift.ts";
import { type Decimal, formatDecimal } from "../../domain/money/decimal.ts";
import type { ApiKeySchema } from "../../gen/proto/billing/admin/v1/api_keys_pb.ts";
import type { AuditEntrySchema } from "../../gen/proto/billing/admin/v1/audit_pb.ts";
import type {
  DocumentSchema,
  IssuedDocumentSchema,
} from "../../gen/proto/billing/admin/v1/documents_pb.ts";
import {
  type LedgerConnectionSchema,
  LedgerGrant,
} from "../../gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import {
  OperatorRole,
  type OperatorSchema,
  type OperatorTokenSchema,
} from "../../gen/proto/billing/admin/v1/operators_pb.ts";
import type { OrganisationSchema } from "../../gen/proto/billing/admin/v1/organisations_pb.ts";
import type { SessionSchema } from "../../gen/proto/billing/admin/v1/sessions_pb.ts";
import type { TestClockSchema } from "../../gen/proto/billing/admin/v1/test_clock_pb.ts";
import { documentStatuses, invoiceTypes } from "../../present/enums.ts";
import { sessionLife } from "../../store/access/console-sessions.ts";
import type { AuditRecord } from "../../store/admin/audit.ts";
import type { SessionRecord } from "../../store/admin/console/console-sessions.ts";
import type {
  ApiKeyRecord,
  OperatorRecord,
  OperatorTokenRecord,
} from "../../store/admin/credentials.ts";
import type { AdminDocument } from "../../store/admin/documents/document-listing.ts";
import type { ConnectionView } from "../../store/admin/ledger/connections.ts";
import type { AdminOrganisation } from "../../store/admin/organisations/organisations.ts";
import type { TestClock } from "../../store/admin/test-clock.ts";
import type { IssuedDocument } from "../../store/documents/issued-since.ts";
import {
  credentialStatus,
  documentJobs,
  documentKinds,
  documentStates,
  firstInvoiceStatuses,
  ledgerGrants,
  roles,
  testClockStates,
} from "./enums.ts";

/** A value as messages have it. */
type Shown<T> = T extends null
  ? undefined
  : T extends Date | Decimal
    ? string
    : T extends readonly (infer Element)[]
      ? Element[]
      : T;

/**
 * The members of a record as messages have them: instants as ISO 8601, decimals with four places,
 * and none for null. The record must not have secrets under names of the message.
 */
export function membersOf<T extends object>(record: T): { [Name in keyof T]: Shown<T[Name]> } {
  const members = Object.entries(record).map(([name, value]) => [name, shownValue(value)]);
  return Object.fromEntries(members);
}

function shownValue(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "object" || value === null) return value ?? undefined;
  return "unscaled" in value ? formatDecimal(value as Decimal) : value;
}

/** An organisation with all its settings. */
export function presentOrganisation(
  organisation: AdminOrganisation,
): MessageInitShape<typeof OrganisationSchema> {
  return {
    ...membersOf(organisation),
    firstInvoiceStatus: firstInvoiceStatuses[organisation.firstInvoiceStatus],
    created: organisation.createdAt.toISOString(),
  };
}

/** A connection without its secret. */
export function presentConnection(
  connection: ConnectionView,
): MessageInitShape<typeof LedgerConnectionSchema> {
  return {
    ...membersOf(connection),
    organisation: connection.organisationId,
    grant: ledgerGrants[connection.grantKind] ?? LedgerGrant.UNSPECIFIED,
    created: connection.createdAt.toISOString(),
  };
}

/** An API key without its value. */
export function presentApiKey(key: ApiKeyRecord, now: Date): MessageInitShape<typeof ApiKeySchema> {
  return {
    ...membersOf(key),
    organisation: key.organisationId,
    redactedValue: key.hint,
    status: credentialStatus(key, now),
    created: key.createdAt.toISOString(),
  };
}

/** A document with the outcome of its last ledger job. */
export function presentDocument(document: AdminDocument): MessageInitShape<typeof DocumentSchema> {
  return {
    ...membersOf(document),
    kind: documentKinds[document.kind],
    state: documentStates[document.state],
    status: documentStatuses[document.status],
    customer: document.customerId,
    subscription: document.subscriptionId,
    ledgerDifferences: [...describeDrift(document.ledgerDrift ?? {})],
    created: document.createdAt.toISOString(),
    job: document.operation === null ? undefined : documentJobs[document.operation],
    invoice: document.invoiceId ?? undefined,
  };
}

/** A sandbox's test clock with its current or last advance. CLOCK-1 */
export function presentTestClock({
  organisationId: organisation,
  state,
  now,
  advance,
}: TestClock): MessageInitShape<typeof TestClockSchema> {
  return {
    organisation,
    state: testClockStates[state],
    now: now.toISOString(),
    advance: advance === null ? undefined : membersOf(advance),
  };
}

/** An operator with its role. */
export function presentOperator(operator: OperatorRecord): MessageInitShape<typeof OperatorSchema> {
  const role =
    (roles as Readonly<Record<string, OperatorRole>>)[operator.role] ?? OperatorRole.UNSPECIFIED;
  return { ...membersOf(operator), role, created: operator.createdAt.toISOString() };
}

/** An operator token without its value. */
export function presentToken(
  token: OperatorTokenRecord,
  now: Date,
): MessageInitShape<typeof OperatorTokenSchema> {
  return {
    ...membersOf(token),
    operator: token.operatorId,
    redactedValue: token.hint,
    status: credentialStatus(token, now),
    created: token.createdAt.toISOString(),
  };
}

/** A session, and whether it is the one with the id `current`. ADMIN-17 */
export function presentSession(
  session: SessionRecord,
  current: string | undefined,
): MessageInitShape<typeof SessionSchema> {
  const { id, tokenId: token, createdAt, lastUsedAt } = session;
  const endsAt = createdAt.getTime() + sessionLife.absoluteMs;
  const idleEndsAt = Math.min(lastUsedAt.getTime() + sessionLife.idleMs, endsAt);
  return {
    ...membersOf(session),
    token,
    current: id === current,
    created: createdAt.toISOString(),
    idleEndsAt: new Date(idleEndsAt).toISOString(),
    endsAt: new Date(endsAt).toISOString(),
  };
}

/** An entry of the audit log. ADMIN-2 */
export function presentAuditEntry({
  before,
  after,
  ...entry
}: AuditRecord): MessageInitShape<typeof AuditEntrySchema> {
  return {
    ...membersOf(entry),
    created: entry.createdAt.toISOString(),
    operator: entry.operatorId ?? undefined,
    token: entry.tokenId ?? undefined,
    organisation: entry.organisationId ?? undefined,
    target: targetOf({ ...entry, before }),
    before: (before as Snapshot | null) ?? undefined,
    after: (after as Snapshot | null) ?? undefined,
  };
}

/** The log finds a usage event by its subscription, because the event's id can be any text. */
function targetOf({
  targetKind,
  targetId,
  before,
}: Pick<AuditRecord, "targetKind" | "targetId" | "before">): string {
  const { event_id: eventId } = (before ?? {}) as { readonly event_id?: string };
  return targetKind === "usage_event" ? (eventId ?? targetId) : targetId;
}

/** The audit log stores objects only. */
type Snapshot = Exclude<MessageInitShape<typeof AuditEntrySchema>["before"], undefined>;

/** Presents a document that an operator's act issued. */
export function presentIssued(
  issued: IssuedDocument,
): MessageInitShape<typeof IssuedDocumentSchema> {
  const type = issued.type === null ? undefined : invoiceTypes[issued.type];
  return { ...membersOf(issued), kind: documentKinds[issued.kind], type };
}
