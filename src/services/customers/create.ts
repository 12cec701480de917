/**
 * Create customer: writes a row that is not visible yet, and a job that creates or imports the
 * ledger's contact. The customer is visible once the ledger has accepted it. After a refusal
 * nothing remains (CUSTOMER-3).
 */
import { strict as assert } from "node:assert";
import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { crashPoint } from "../../crash-points.ts";
import {
  type CustomerCreationRequest,
  decideCustomer,
} from "../../domain/customers/create-customer.ts";
import { Refusal } from "../../domain/refusal.ts";
import {
  type CreateCustomerRequest,
  CreateCustomerRequestSchema,
  type CustomerService,
} from "../../gen/proto/billing/v1/customers_pb.ts";
import { derivedId, newId } from "../../store/database/ids.ts";
import type { JobOutcome } from "../../store/ledger-jobs/job-notifications.ts";
import type { Scope } from "../../store/tenant.ts";
import type { Call } from "../../transport/rpc/caller.ts";
import type { MethodImplementation } from "../../transport/rpc/implementation.ts";
import { untilKnown } from "../lost-answers.ts";
import type { ServiceParts } from "../parts.ts";
import { presentCustomer } from "../present.ts";
import { answerBudgetMs, awaitPosting } from "../settlement.ts";

type Method = MethodImplementation<typeof CustomerService.method.createCustomer>;

/**
 * Returns the method. Refuses `customer_code_taken`, `ledger_contact_name_taken`,
 * `invalid_parameter` (what the ledger refuses), and `ledger_unavailable` if the ledger did not
 * decide in time. Refuses `idempotency_conflict` for a key reused after its 24 hours for another
 * customer (CUSTOMER-4, IDEMPOTENCY-7).
 */
export function createCustomer({ store, settlement }: ServiceParts): Method {
  return async (request, call) => {
    const untilMs = Date.now() + answerBudgetMs;
    const scope = store.organisation(call.caller.organisationId);
    const id = identityOf(call);
    return untilKnown(untilMs, async () => {
      const jobId = await begin(scope, id, request, call.caller.now, new Date(untilMs));
      crashPoint("creation_saved");
      if (jobId !== null) {
        const watch = settlement.outcomes.watch([jobId]);
        const [outcome] = await awaitPosting(settlement, scope.organisationId, watch, untilMs);
        await judge(scope, id, jobId, outcome, call.idempotencyKey !== null);
      }
      crashPoint("creation_posted");
      const customer = await scope.customers.get(id);
      assert(customer, "a customer whose contact is there is shown");
      return { customer: presentCustomer(customer) };
    });
  };
}

/**
 * The id is derived from the API key and the Idempotency-Key if there is one, so that a retry is
 * the same customer.
 */
function identityOf({ caller, idempotencyKey }: Call): string {
  return idempotencyKey === null ? newId() : derivedId("customer", caller.apiKeyId, idempotencyKey);
}

/**
 * Writes the customer and its job, or finds those of an earlier attempt. Returns null if the
 * customer already exists.
 */
async function begin(
  scope: Scope,
  id: string,
  request: CreateCustomerRequest,
  now: Date,
  awaitedUntil: Date,
): Promise<string | null> {
  const requestHash = createHash("sha256")
    .update(toBinary(CreateCustomerRequestSchema, request))
    .digest();
  const customer = decideCustomer(id, read(request), now);
  const saved = await scope.customers.save({ customer, requestHash, awaitedUntil });
  if (saved.kind === "saved") return saved.jobId;
  // An earlier attempt with this identity may hold the code. Both constraints then fail, and
  // PostgreSQL may report either.
  const made = await scope.customers.findCreation(id);
  if (made === null) {
    if (saved.kind === "code_taken") {
      throw new Refusal("customer_code_taken", "Another customer has this code.", "code");
    }
    throw new Refusal(
      "temporarily_unavailable",
      "An earlier try of this request was given up meanwhile; try again.",
      null,
      1,
    );
  }
  if (made.requestHash === null || !made.requestHash.equals(requestHash)) {
    throw new Refusal("idempotency_conflict", "This Idempotency-Key created another customer.");
  }
  return (await scope.customers.get(id)) === null ? made.jobId : null;
}

async function judge(
  scope: Scope,
  id: string,
  jobId: string,
  outcome: JobOutcome | undefined,
  hasKey: boolean,
): Promise<void> {
  if (outcome?.state === "done") return;
  if (outcome?.state === "refused") throw refusalOf(outcome);
  // Undecided: the job is abandoned if nothing was sent. Otherwise it continues, and a retry with
  // the key finds it.
  const isGivenUp = await scope.customers.abandon(jobId);
  if (!isGivenUp && (await scope.customers.get(id)) !== null) return;
  throw new Refusal(
    "ledger_unavailable",
    `The ledger did not answer in time: ${adviceOf(isGivenUp, hasKey)}`,
  );
}

/** A request without a key cannot be repeated: it would create another customer. */
function adviceOf(isGivenUp: boolean, hasKey: boolean): string {
  if (isGivenUp) return "nothing was made; try again.";
  return hasKey
    ? "the customer may still be made; retry with the same Idempotency-Key, or look it up by its code."
    : "the customer may still be made; look it up before you create it again.";
}

function refusalOf({ reason, message }: JobOutcome): Refusal {
  const text = message ?? "The ledger refused the contact.";
  switch (reason) {
    case "duplicate_contact":
      return new Refusal("ledger_contact_name_taken", text, "name");
    case "duplicate_contact_code":
      return new Refusal("customer_code_taken", text, "code");
    case "contact_name_invalid":
      return new Refusal("invalid_parameter", text, "name");
    case "contact_email_invalid":
      return new Refusal("invalid_parameter", text, "email");
    case "not_found":
      return new Refusal(
        "invalid_parameter",
        "The ledger has no contact with this id.",
        "ledger_contact_id",
      );
    case "contact_inactive":
    case "already_imported":
      return new Refusal("invalid_parameter", text, "ledger_contact_id");
    default:
      return new Refusal("invalid_parameter", text);
  }
}

function read(request: CreateCustomerRequest): CustomerCreationRequest {
  return {
    code: request.code ?? null,
    name: request.name,
    companyName: request.companyName ?? null,
    firstName: request.firstName ?? null,
    lastName: request.lastName ?? null,
    email: request.email,
    ledgerContactId: request.ledgerContactId ?? null,
  };
}
