/**
 * The registry of nouns, in the order in which an organisation is set up. A new noun is registered
 * here only.
 */
import type { Noun } from "../noun.ts";
import { apiKeys } from "./access/api-keys.ts";
import { audit } from "./access/audit.ts";
import { operators, operatorTokens } from "./access/operators.ts";
import { sessions } from "./access/sessions.ts";
import { views } from "./access/views.ts";
import { billing } from "./billing/billing.ts";
import { clock } from "./billing/clock.ts";
import { documents } from "./billing/documents.ts";
import { usage } from "./billing/usage.ts";
import { charges } from "./catalogue/charges.ts";
import { meters } from "./catalogue/meters.ts";
import { plans } from "./catalogue/plans.ts";
import { customers } from "./customers/customers.ts";
import { ledger } from "./ledger/ledger.ts";
import { mapping } from "./ledger/mapping.ts";
import { attention } from "./now/attention.ts";
import { overview } from "./now/overview.ts";
import { search } from "./now/search.ts";
import { organisations } from "./organisations.ts";
import { creditNotes, invoices } from "./platform/documents.ts";
import { events } from "./platform/events.ts";
import { subscriptions } from "./platform/subscriptions.ts";
import { webhooks } from "./webhooks/webhooks.ts";

/** Every noun, in the order of the help. */
export const nouns: readonly Noun[] = [
  organisations,
  ledger,
  mapping,
  apiKeys,
  meters,
  plans,
  charges,
  customers,
  subscriptions,
  invoices,
  creditNotes,
  documents,
  billing,
  usage,
  clock,
  events,
  webhooks,
  overview,
  attention,
  search,
  operators,
  operatorTokens,
  sessions,
  views,
  audit,
];
