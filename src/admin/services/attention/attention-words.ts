/** What each kind of attention is: its severity, our words about it, and the acts that help. */
import type { DescMethod } from "@bufbuild/protobuf";
import { AttentionSeverity } from "../../../gen/proto/billing/admin/v1/attention_pb.ts";
import { BillingService } from "../../../gen/proto/billing/admin/v1/billing_pb.ts";
import { DocumentService } from "../../../gen/proto/billing/admin/v1/documents_pb.ts";
import {
  AccountMappingService,
  LedgerConnectionService,
} from "../../../gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import { LedgerReconciliationService } from "../../../gen/proto/billing/admin/v1/ledger_reconciliation_pb.ts";
import { LedgerSyncService } from "../../../gen/proto/billing/admin/v1/ledger_sync_pb.ts";
import { TestClockService } from "../../../gen/proto/billing/admin/v1/test_clock_pb.ts";
import { WebhookService } from "../../../gen/proto/billing/admin/v1/webhooks_pb.ts";
import type { AttentionItem, AttentionKind } from "../../../store/admin/attention/attention.ts";

/** A method that can help, and the members of its request besides the organisation. */
export interface HelpfulAct {
  readonly method: DescMethod;
  readonly summary: string;
  readonly arguments: Readonly<Record<string, string>>;
}

/** What a kind is. */
export interface KindWords {
  readonly severity: AttentionSeverity;
  /** A sentence without the object. */
  readonly message: (item: AttentionItem) => string;
  /** The safest first. */
  readonly acts: (item: AttentionItem) => readonly HelpfulAct[];
}

const { HIGH, MEDIUM, LOW } = AttentionSeverity;

const act = (
  method: DescMethod,
  summary: string,
  args: HelpfulAct["arguments"] = {},
): HelpfulAct => ({ method, summary, arguments: args });

const { retryDocument, getDocument } = DocumentService.method;
const { setAccountMapping } = AccountMappingService.method;
const { beginLedgerAuthorisation, connectLedger, checkLedgerConnection } =
  LedgerConnectionService.method;
const { resolveUnknownDocument } = LedgerReconciliationService.method;
const { enableWebhookEndpoint, resendWebhookDelivery, sendTestEvent } = WebhookService.method;

const authorise = act(beginLedgerAuthorisation, "Authorise the ledger again");
const connect = act(connectLedger, "Connect the ledger with credentials");

/** Our words about a refusal, by its reason. Other reasons have those of `validation`. */
const refusals: Readonly<Record<string, string>> = {
  account_invalid: "The ledger does not take an account of it",
  tax_invalid: "The ledger does not take a tax type of it",
  contact_inactive: "Its contact is archived in the ledger",
  contact_name_invalid: "The ledger does not take the name of its contact",
  contact_email_invalid: "The ledger does not take the e-mail address of its contact",
  duplicate_contact: "The ledger has another contact of that name",
  duplicate_number: "Another document has its number in the ledger",
  currency_not_enabled: "The ledger does not have its currency",
  period_locked: "Its date is in a period that is locked in the ledger",
  approval_limit: "It is above what our connection may approve",
  not_permitted: "Whoever connected the ledger lacks a right",
  has_payment_or_credit: "It has a payment or credit in the ledger",
  wrong_status: "Its status in the ledger does not allow it",
  drift: "Somebody changed it in the ledger",
  amount_exceeds: "The amount is more than the ledger has left",
  not_found: "The ledger does not have it any more",
  stale: "It changed in the ledger at the same time",
  validation: "The ledger refused it",
};

const refusalOf = ({ reason }: AttentionItem) =>
  `${refusals[reason] ?? refusals.validation}. Nothing more happens until it is retried.`;

const accounts = ["account_invalid", "tax_invalid"];

/** Every kind. */
export const attentionWords: Readonly<Record<AttentionKind, KindWords>> = {
  renewals_overdue: {
    severity: HIGH,
    message: () => "Billing is more than a quarter of an hour behind.",
    acts: () => [act(BillingService.method.runBilling, "Start billing now")],
  },
  ledger_disconnected: {
    severity: HIGH,
    message: ({ reason }) =>
      reason === "consent_expired"
        ? "The consent to the ledger expired. Documents wait until an owner gives it again."
        : "The ledger was disconnected. Documents wait until an owner connects it again.",
    acts: ({ reason }) => (reason === "consent_expired" ? [authorise] : [authorise, connect]),
  },
  ledger_unauthorised: {
    severity: HIGH,
    message: () => "The ledger does not authorise us. Documents wait, and we try each minute.",
    acts: () => [act(checkLedgerConnection, "Check the connection"), connect, authorise],
  },
  subscription_parked: {
    severity: MEDIUM,
    message: () => "Billing could not perform what is due. It tries again within the hour.",
    acts: ({ objectId: id }) => [
      act(BillingService.method.retrySubscription, "Retry the subscription now", { id }),
    ],
  },
  document_refused: {
    severity: MEDIUM,
    message: refusalOf,
    acts: ({ objectId: id, reason }) => [
      ...(accounts.includes(reason) ? [act(setAccountMapping, "Choose another account")] : []),
      act(retryDocument, "Retry the document", { id }),
    ],
  },
  credit_refused: {
    severity: MEDIUM,
    message: (item) => `Its credit is not applied to an invoice. ${refusalOf(item)}`,
    acts: ({ objectId: id }) => [act(retryDocument, "Retry to apply the credit", { id })],
  },
  unknown_document: {
    severity: MEDIUM,
    message: () =>
      "The ledger has it, and this database does not know it. New documents of its customer wait.",
    acts: ({ objectId: id }) => [
      act(resolveUnknownDocument, "Let a document here take it, or dismiss it", { id }),
    ],
  },
  document_drift: {
    severity: LOW,
    message: ({ reason }) =>
      reason === "amount"
        ? "Its lines come to another amount in the ledger."
        : "It is otherwise in the ledger than here.",
    acts: ({ objectId: id }) => [
      act(getDocument, "Compare the document", { id }),
      act(LedgerSyncService.method.syncLedger, "Read the ledger again"),
    ],
  },
  endpoint_disabled: {
    severity: LOW,
    message: () => "It was disabled, because every delivery failed for five days.",
    acts: ({ objectId: id }) => [
      act(enableWebhookEndpoint, "Enable the endpoint", { id }),
      act(sendTestEvent, "Send it a test event", { id }),
    ],
  },
  delivery_failed: {
    severity: LOW,
    message: () => "The receiver did not take it within 20 hours. It is not sent again by itself.",
    acts: ({ objectId: id }) => [act(resendWebhookDelivery, "Send it again", { id })],
  },
  clock_stopped: {
    severity: LOW,
    message: () =>
      "The test clock is on its way and has not moved for a quarter of an hour. Workers move it: " +
      "look whether they run.",
    acts: () => [act(TestClockService.method.getTestClock, "Look at the clock")],
  },
};
