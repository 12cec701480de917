/**
 * Create customer: saves a row that is not visible yet, and a job that creates or imports the
 * ledger's contact. The customer is visible once the ledger has accepted it. After a refusal
 * nothing remains (CUSTOMER-3).
 */
import { strict as assert } from "node:assert";
import { crashPoint } from "../../crash-points.ts";
import {
  type Customer,
  type CustomerCreationRequest,
  decideCustomer,
} from "../../domain/customers/customer.ts";
import { Refusal } from "../../domain/refusal.ts";
import {
  type CreateCustomerRequest,
  CreateCustomerRequestSchema,
  type CustomerService,
} from "../../gen/proto/billing/v1/customers_pb.ts";
import { presentCustomer } from "../../present/objects.ts";
import type { JobOutcome } from "../../store/ledger-jobs/job-notifications.ts";
import type { Tenant } from "../../store/tenant.ts";
import type { MethodImplementation } from "../../transport/rpc/implementation.ts";
import { type Deps, untilKnown } from "../deps.ts";
import { identify, type RequestIdentity, requireSameRequest } from "../request-identity.ts";

type Method = MethodImplementation<typeof CustomerService.method.createCustomer>;

/**
 * Returns the method. Refuses `customer_code_taken`, `ledger_contact_name_taken`,
 * `invalid_parameter` (what the ledger refuses), and `ledger_unavailable` if the ledger did not
 * decide in time. Refuses `idempotency_conflict` for a key reused after its 24 hours for another
 * customer (CUSTOMER-4, IDEMPOTENCY-7).
 */
export function createCustomer(deps: Deps): Method {
  return async (request, call) => {
    const tenant = deps.tenant(call);
    const posting = deps.posting(call);
    // The id is the same in each try and for each repeat, so that it is the same customer.
    const identity = identify("customer", call, CreateCustomerRequestSchema, request);
    const { requestId: id } = identity;
    return untilKnown(posting.deadline, async () => {
      const customer = decideCustomer(id, read(request), call.caller.now);
      const jobId = await save(tenant, customer, identity, posting.deadline);
      crashPoint("creation_saved");
      if (jobId !== null) {
        const [outcome] = await posting.await([jobId]);
        await requireAccepted(tenant, { id, jobId }, outcome, call.idempotencyKey !== null);
      }
      crashPoint("creation_posted");
      const created = await tenant.customers.get(id);
      assert(created, "a customer whose contact is there is shown");
      return { customer: presentCustomer(created) };
    });
  };
}

/**
 * Saves the customer and its job, or finds those of an earlier attempt. Returns the job, or null if
 * the customer already exists.
 */
async function save(
  tenant: Tenant,
  customer: Customer,
  identity: RequestIdentity,
  awaitedUntil: Date,
): Promise<string | null> {
  const { id } = customer;
  const { requestHash } = identity;
  const saved = await tenant.customers.save({ customer, requestHash, awaitedUntil });
  if (saved.kind === "saved") return saved.jobId;
  // An earlier attempt with this identity may hold the code. Both constraints then fail, and
  // PostgreSQL may report either.
  const earlier = await tenant.customers.findCreation(id);
  if (earlier === null) {
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
  requireSameRequest(
    earlier.requestHash,
    identity,
    "This Idempotency-Key created another customer.",
  );
  return (await tenant.customers.get(id)) === null ? earlier.jobId : null;
}

async function requireAccepted(
  tenant: Tenant,
  { id, jobId }: { readonly id: string; readonly jobId: string },
  outcome: JobOutcome | undefined,
  hasKey: boolean,
): Promise<void> {
  if (outcome?.state === "done") return;
  if (outcome?.state === "refused") throw refusalOf(outcome);
  // Undecided: the job is abandoned if nothing was sent. Otherwise it continues, and a retry with
  // the key finds it.
  const isAbandoned = await tenant.customers.abandon(jobId);
  if (!isAbandoned && (await tenant.customers.get(id)) !== null) return;
  throw new Refusal(
    "ledger_unavailable",
    `The ledger did not answer in time: ${adviceOf(isAbandoned, hasKey)}`,
  );
}

/** A request without a key cannot be repeated: it would create another customer. */
function adviceOf(isAbandoned: boolean, hasKey: boolean): string {
  if (isAbandoned) return "nothing was created; try again.";
  return hasKey
    ? "the customer may still be created; retry with the same Idempotency-Key, or search for its " +
        "code."
    : "the customer may still be created; search for it before you create it again.";
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
