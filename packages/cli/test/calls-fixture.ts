/**
 * Runs the command line inside the test's process, with a terminal that records, and a Connect
 * server whose answers the test sets.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  create,
  type DescMethodUnary,
  type DescService,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { test } from "vitest";
import { ApiKeyService } from "../../../src/gen/proto/billing/admin/v1/api_keys_pb.ts";
import { AttentionService } from "../../../src/gen/proto/billing/admin/v1/attention_pb.ts";
import { AuditService } from "../../../src/gen/proto/billing/admin/v1/audit_pb.ts";
import { BillingService } from "../../../src/gen/proto/billing/admin/v1/billing_pb.ts";
import {
  ChargeService,
  PlanService,
} from "../../../src/gen/proto/billing/admin/v1/catalogue_pb.ts";
import { CreditNoteService } from "../../../src/gen/proto/billing/admin/v1/credit_notes_pb.ts";
import { CustomerService } from "../../../src/gen/proto/billing/admin/v1/customers_pb.ts";
import { DocumentService } from "../../../src/gen/proto/billing/admin/v1/documents_pb.ts";
import { EventService } from "../../../src/gen/proto/billing/admin/v1/events_pb.ts";
import { InvoiceService } from "../../../src/gen/proto/billing/admin/v1/invoices_pb.ts";
import {
  AccountMappingService,
  LedgerConnectionService,
} from "../../../src/gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import { LedgerReconciliationService } from "../../../src/gen/proto/billing/admin/v1/ledger_reconciliation_pb.ts";
import { LedgerSyncService } from "../../../src/gen/proto/billing/admin/v1/ledger_sync_pb.ts";
import { MeterService } from "../../../src/gen/proto/billing/admin/v1/meters_pb.ts";
import { OperatorService } from "../../../src/gen/proto/billing/admin/v1/operators_pb.ts";
import { OrganisationService } from "../../../src/gen/proto/billing/admin/v1/organisations_pb.ts";
import { OverviewService } from "../../../src/gen/proto/billing/admin/v1/overview_pb.ts";
import { SavedViewService } from "../../../src/gen/proto/billing/admin/v1/saved_views_pb.ts";
import { SearchService } from "../../../src/gen/proto/billing/admin/v1/search_pb.ts";
import { SessionService } from "../../../src/gen/proto/billing/admin/v1/sessions_pb.ts";
import { SubscriptionService } from "../../../src/gen/proto/billing/admin/v1/subscriptions_pb.ts";
import { TestClockService } from "../../../src/gen/proto/billing/admin/v1/test_clock_pb.ts";
import { UsageService } from "../../../src/gen/proto/billing/admin/v1/usage_pb.ts";
import { WebhookService } from "../../../src/gen/proto/billing/admin/v1/webhooks_pb.ts";
import {
  type ErrorDetail,
  ErrorDetailSchema,
} from "../../../src/gen/proto/billing/v1/common_pb.ts";
import { perFile, started } from "../../../test/support/file-fixture.ts";
import { runProgram } from "../src/program.ts";
import type { Terminal } from "../src/terminal.ts";

/** Every service of the admin API. */
export const adminServices: readonly DescService[] = [
  OrganisationService,
  LedgerConnectionService,
  LedgerReconciliationService,
  LedgerSyncService,
  AccountMappingService,
  ApiKeyService,
  MeterService,
  PlanService,
  ChargeService,
  CustomerService,
  SubscriptionService,
  InvoiceService,
  CreditNoteService,
  DocumentService,
  BillingService,
  UsageService,
  TestClockService,
  EventService,
  WebhookService,
  OverviewService,
  AttentionService,
  SearchService,
  OperatorService,
  SessionService,
  SavedViewService,
  AuditService,
];

/** The outcome of a call. */
interface Ended {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
  /** The questions to the person at the terminal. */
  readonly questions: readonly string[];
}

/** Surroundings that a test sets. */
interface Around {
  readonly env?: Record<string, string>;
  readonly files?: Record<string, string>;
  /** The columns of the terminal. No terminal if it is left out. */
  readonly columns?: number;
  /** Gets the finished files that the call writes. */
  readonly written?: Map<string, string>;
  /** Aborts as if the person stopped the command. Aborted if it is left out. */
  readonly stopped?: AbortSignal;
  /** Answers to questions, in order. With answers the terminal is interactive. */
  readonly answers?: readonly string[];
}

/** The organisation of the tests. */
export const organisation = "0199a0b2-0000-7000-8000-000000000001";

async function* linesOf(text: string): AsyncGenerator<string> {
  yield* text.split("\n").slice(0, -1);
}

/** Runs one call. One text is split at spaces. */
export async function run(words: string | readonly string[], around: Around = {}): Promise<Ended> {
  let [out, err, written] = ["", "", ""];
  const questions: string[] = [];
  const answers = [...(around.answers ?? [])];
  const terminal: Terminal = {
    env: around.env ?? {},
    interactive: around.answers !== undefined,
    columns: around.columns,
    out: (text) => {
      out += text;
    },
    drained: async () => undefined,
    stopped: () => around.stopped ?? AbortSignal.abort(),
    err: (text) => {
      err += text;
    },
    read: async (path) => around.files?.[path] ?? "",
    lines: (path) => linesOf(around.files?.[path] ?? ""),
    create: async (path) => ({
      write: async (text) => {
        written += text;
      },
      finish: async () => {
        around.written?.set(path, written);
      },
      close: async () => undefined,
    }),
    ask: async (question) => {
      questions.push(question);
      return answers.shift() ?? "";
    },
  };
  const exitCode = await runProgram(terminal, typeof words === "string" ? words.split(" ") : words);
  return { exitCode, out, err, questions };
}

/** A call as the server received it. */
interface Received {
  readonly method: string;
  readonly headers: Headers;
  readonly request: JsonValue;
}

/** Answers a method with the members of the response. */
type Answer = (request: object, method: DescMethodUnary) => object;

/** A server and what it received. */
export interface AdminServer {
  readonly received: Received[];
  /** Environment with its address, a token and the organisation. */
  readonly env: Record<string, string>;
  /** Sets the answers by method name. All other methods answer empty messages. */
  answer(answers: Readonly<Record<string, Answer>>): void;
  stop(): Promise<void>;
}

/** Starts a server of all admin services. */
export async function startAdminServer(): Promise<AdminServer> {
  const received: Received[] = [];
  let answers: Readonly<Record<string, Answer>> = {};
  const adapter = connectNodeAdapter({
    routes: (router) => {
      for (const method of adminServices.flatMap(({ methods }) => methods) as DescMethodUnary[]) {
        router.rpc(method, (request, { requestHeader }) => {
          const json = toJson(method.input, request, { useProtoFieldName: true });
          received.push({ method: method.name, headers: requestHeader, request: json });
          return create(
            method.output,
            (answers[method.name]?.(request, method) ?? {}) as Record<string, unknown>,
          );
        });
      }
    },
  });
  const server = createServer(adapter);
  // Longer than any client reuses a connection, so that none ends during a request.
  server.keepAliveTimeout = 65_000;
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    received,
    env: {
      BILLING_ADMIN_URL: `http://127.0.0.1:${port}`,
      BILLING_OPERATOR_TOKEN: "op_test",
      BILLING_ORGANISATION: organisation,
    },
    answer: (next) => {
      answers = next;
      received.length = 0;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Throws a refusal as the service answers it. */
export function refuse(code: string, message: string, param?: string): never {
  const value: Partial<ErrorDetail> = {
    code,
    message,
    requestId: "request-1",
    ...(param === undefined ? {} : { param }),
  };
  throw new ConnectError(message, Code.InvalidArgument, {}, [{ desc: ErrorDetailSchema, value }]);
}

/** Tests of the command line, on one server whose answers and calls are cleared before each. */
export const cliTest = test.extend(
  "server",
  perFile,
  started(startAdminServer, (server) => server.stop()),
);
