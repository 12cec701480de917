/**
 * The registry of nouns, in the order in which an organisation is set up. A new noun is registered
 * here only.
 */
import type { Noun } from "../noun.ts";
import { apiKeys } from "./api-keys.ts";
import { audit } from "./audit.ts";
import { billing } from "./billing.ts";
import { charges } from "./charges.ts";
import { clock } from "./clock.ts";
import { customers } from "./customers.ts";
import { documents } from "./documents.ts";
import { ledger } from "./ledger.ts";
import { mapping } from "./mapping.ts";
import { meters } from "./meters.ts";
import { operators, operatorTokens } from "./operators.ts";
import { organisations } from "./organisations.ts";
import { plans } from "./plans.ts";
import { usage } from "./usage.ts";
import { webhooks } from "./webhooks.ts";

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
  documents,
  billing,
  usage,
  clock,
  webhooks,
  operators,
  operatorTokens,
  audit,
];
