/**
 * Presents records and domain values as messages of the admin contract. Every member is listed, so
 * that nothing is exposed by accident.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { describeDrift } from "../../domain/ledger/drift.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";
import type { ApiKeySchema } from "../../gen/proto/billing/admin/v1/api_keys_pb.ts";
import type { AuditEntrySchema } from "../../gen/proto/billing/admin/v1/audit_pb.ts";
import type {
  DocumentSchema,
  IssuedDocumentSchema,
} from "../../gen/proto/billing/admin/v1/documents_pb.ts";
import {
  type LedgerConnectionSchema,
  type LedgerDescriptionSchema,
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
import type { LedgerOrganisation } from "../../ledger/port/ledger.ts";
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

/** An organisation with all its settings. */
export function presentOrganisation(
  organisation: AdminOrganisation,
): MessageInitShape<typeof OrganisationSchema> {
  return {
    id: organisation.id,
    name: organisation.name,
    timezone: organisation.timezone,
    defaultCurrency: organisation.defaultCurrency,
    livemode: organisation.livemode,
    setupMode: organisation.setupMode,
    canCreateLedgerContacts: organisation.canCreateLedgerContacts,
    usageAllowed: organisation.usageAllowed,
    invoiceCreateDays: organisation.invoiceCreateDays,
    firstInvoiceStatus: firstInvoiceStatuses[organisation.firstInvoiceStatus],
    dueDays: organisation.dueDays,
    numberPrefix: organisation.numberPrefix,
    ...present("revenueAccount", organisation.revenueAccount),
    ...present("taxType", organisation.taxType),
    ledgerConnected: organisation.ledgerConnected,
    created: organisation.createdAt.toISOString(),
  };
}

/** A connection without its secret. */
export function presentConnection(
  connection: ConnectionView,
): MessageInitShape<typeof LedgerConnectionSchema> {
  return {
    organisation: connection.organisationId,
    kind: connection.kind,
    tenantId: connection.tenantId,
    clientId: connection.clientId,
    baseUrl: connection.baseUrl,
    identityUrl: connection.identityUrl,
    ...presentInstant("pausedUntil", connection.pausedUntil),
    ...present("pausedReason", connection.pausedReason),
    created: connection.createdAt.toISOString(),
    grant: ledgerGrants[connection.grantKind] ?? LedgerGrant.UNSPECIFIED,
    ...presentInstant("disconnectedAt", connection.disconnectedAt),
    ...present("disconnectedReason", connection.disconnectedReason),
  };
}

/** The ledger's description of the organisation that it has. */
export function presentLedger(
  ledger: LedgerOrganisation,
): MessageInitShape<typeof LedgerDescriptionSchema> {
  return {
    id: ledger.id,
    name: ledger.name,
    currency: ledger.currency,
    ...present("timezone", ledger.timezone),
    demo: ledger.demo,
    ...present("periodLockDate", ledger.periodLockDate),
    ...present("yearLockDate", ledger.yearLockDate),
  };
}

/** An API key without its value. */
export function presentApiKey(key: ApiKeyRecord, now: Date): MessageInitShape<typeof ApiKeySchema> {
  return {
    id: key.id,
    organisation: key.organisationId,
    name: key.name,
    redactedValue: key.hint,
    scopes: key.scopes,
    status: credentialStatus(key, now),
    ...presentInstant("expiresAt", key.expiresAt),
    ...presentInstant("revokedAt", key.revokedAt),
    ...presentInstant("lastUsedAt", key.lastUsedAt),
    created: key.createdAt.toISOString(),
  };
}

/** A document with the outcome of its last ledger job. */
export function presentDocument(document: AdminDocument): MessageInitShape<typeof DocumentSchema> {
  return {
    id: document.id,
    kind: documentKinds[document.kind],
    number: document.number,
    state: documentStates[document.state],
    status: documentStatuses[document.status],
    customer: document.customerId,
    subscription: document.subscriptionId,
    currency: document.currency,
    total: formatDecimal(document.total),
    subtotal: formatDecimal(document.subtotal),
    ...present("ledgerSubtotal", document.ledgerSubtotal && formatDecimal(document.ledgerSubtotal)),
    ledgerDifferences: [...describeDrift(document.ledgerDrift ?? {})],
    ...present("reason", document.reason),
    ...present("message", document.message),
    attempts: document.attempts,
    ...presentInstant("nextAttemptAt", document.nextAttemptAt),
    created: document.createdAt.toISOString(),
    ...present("job", document.operation === null ? null : documentJobs[document.operation]),
    ...present("invoice", document.invoiceId),
    ...present("ledgerNumber", document.ledgerNumber),
  };
}

/** A sandbox's test clock with its current or last advance. CLOCK-1 */
export function presentTestClock({
  organisationId,
  state,
  now,
  advance,
}: TestClock): MessageInitShape<typeof TestClockSchema> {
  const shown = {
    organisation: organisationId,
    state: testClockStates[state],
    now: now.toISOString(),
  };
  if (advance === null) return shown;
  const { from, to, startedAt, finishedAt } = advance;
  return {
    ...shown,
    advance: {
      from: from.toISOString(),
      to: to.toISOString(),
      performed: advance.performed,
      invoicesIssued: advance.invoicesIssued,
      parked: advance.parked,
      startedAt: startedAt.toISOString(),
      ...presentInstant("finishedAt", finishedAt),
    },
  };
}

/** An operator with its role. */
export function presentOperator(operator: OperatorRecord): MessageInitShape<typeof OperatorSchema> {
  const role =
    (roles as Readonly<Record<string, OperatorRole>>)[operator.role] ?? OperatorRole.UNSPECIFIED;
  const { id, name, active, createdAt } = operator;
  return { id, name, role, active, created: createdAt.toISOString() };
}

/** An operator token without its value. */
export function presentToken(
  token: OperatorTokenRecord,
  now: Date,
): MessageInitShape<typeof OperatorTokenSchema> {
  return {
    id: token.id,
    operator: token.operatorId,
    name: token.name,
    redactedValue: token.hint,
    status: credentialStatus(token, now),
    ...presentInstant("expiresAt", token.expiresAt),
    ...presentInstant("revokedAt", token.revokedAt),
    ...presentInstant("lastUsedAt", token.lastUsedAt),
    created: token.createdAt.toISOString(),
  };
}

/** A session, and whether it is the one with the id `current`. ADMIN-17 */
export function presentSession(
  { id, userAgent, tokenId, createdAt, lastUsedAt }: SessionRecord,
  current: string | undefined,
): MessageInitShape<typeof SessionSchema> {
  const endsAt = createdAt.getTime() + sessionLife.absoluteMs;
  const idleEndsAt = Math.min(lastUsedAt.getTime() + sessionLife.idleMs, endsAt);
  return {
    id,
    userAgent,
    token: tokenId,
    current: id === current,
    created: createdAt.toISOString(),
    lastUsedAt: lastUsedAt.toISOString(),
    idleEndsAt: new Date(idleEndsAt).toISOString(),
    endsAt: new Date(endsAt).toISOString(),
  };
}

/** An entry of the audit log. ADMIN-2 */
export function presentAuditEntry(entry: AuditRecord): MessageInitShape<typeof AuditEntrySchema> {
  return {
    id: entry.id,
    created: entry.createdAt.toISOString(),
    ...present("operator", entry.operatorId),
    operatorName: entry.operatorName,
    ...present("token", entry.tokenId),
    operation: entry.operation,
    ...present("organisation", entry.organisationId),
    targetKind: entry.targetKind,
    target: targetOf(entry),
    ...present("before", entry.before as Snapshot | null),
    ...present("after", entry.after as Snapshot | null),
    ...present("requestId", entry.requestId),
  };
}

/** The log finds a usage event by its subscription, because the event's id can be any text. */
function targetOf({ targetKind, targetId, before }: AuditRecord): string {
  const { event_id: eventId } = (before ?? {}) as { readonly event_id?: string };
  return targetKind === "usage_event" ? (eventId ?? targetId) : targetId;
}

/** The audit log stores objects only. */
type Snapshot = Exclude<MessageInitShape<typeof AuditEntrySchema>["before"], undefined>;

/** A member that is left out if its value is null. */
export function present<Name extends string, T>(name: Name, value: T | null): { [K in Name]?: T } {
  return value === null ? {} : ({ [name]: value } as { [K in Name]: T });
}

/** An instant as ISO 8601 text. Left out if it is null. */
export function presentInstant<Name extends string>(
  name: Name,
  instant: Date | null,
): { [K in Name]?: string } {
  return present(name, instant === null ? null : instant.toISOString());
}

/** Presents a document that an operator's act issued. */
export function presentIssued(
  issued: IssuedDocument,
): MessageInitShape<typeof IssuedDocumentSchema> {
  const { kind, id, number, type, currency, subtotal } = issued;
  return {
    kind: documentKinds[kind],
    ...present("id", id),
    ...present("number", number),
    ...present("type", type && invoiceTypes[type]),
    currency,
    subtotal,
  };
}
