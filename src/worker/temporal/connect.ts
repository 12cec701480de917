/**
 * The connection to Temporal: address, namespace, TLS and key, and the converter that encrypts
 * payloads.
 */
import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  isGrpcDeadlineError,
  makeGrpcRetryInterceptor,
  type WorkflowClientInterceptor,
} from "@temporalio/client";
import type { DataConverter } from "@temporalio/common";
import type { ClientConnectConfig } from "@temporalio/envconfig";
import { createPayloadCodec } from "./payload-codec.ts";

/** The settings of Temporal. */
export interface TemporalSettings {
  readonly connectionOptions: ClientConnectConfig["connectionOptions"];
  readonly namespace: string;
  /** TEMPORAL_PAYLOAD_KEY, 32 bytes: it encrypts payloads. With null they stay plain. */
  readonly payloadKey: Buffer | null;
  /** TEMPORAL_PAYLOAD_KEYS_BEFORE: they decrypt too. */
  readonly payloadKeysBefore: readonly Buffer[];
  /**
   * TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID: the version of this process's workers.
   * Null, the default: workers have no version.
   */
  readonly deployment: { readonly name: string; readonly buildId: string } | null;
}

/**
 * A client that connects at its first use, so that an API process starts with Temporal down
 * (INVARIANT-9).
 */
export interface TemporalClient {
  readonly client: Client;
  readonly connection: Connection;
  readonly namespace: string;
  readonly dataConverter: DataConverter;
}

/**
 * How often a call is tried before it fails. The SDK's ten attempts take 20 seconds if Temporal is
 * down.
 */
const attempts = 3;

/**
 * Creates the client. `workflow` are interceptors of its calls about workflows, the outermost
 * first.
 */
export function connectTemporal(
  settings: TemporalSettings,
  workflow: WorkflowClientInterceptor[] = [],
): TemporalClient {
  const { connectionOptions, namespace } = settings;
  const connection = Connection.lazy({
    ...connectionOptions,
    interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: attempts }))],
  });
  const dataConverter = dataConverterOf(settings);
  const client = new Client({ connection, namespace, dataConverter, interceptors: { workflow } });
  return { client, connection, namespace, dataConverter };
}

/** Returns the converter of clients, workers and replays. */
export function dataConverterOf({
  payloadKey,
  payloadKeysBefore,
}: Pick<TemporalSettings, "payloadKey" | "payloadKeysBefore">): DataConverter {
  return { payloadCodecs: [createPayloadCodec(payloadKey, payloadKeysBefore)] };
}

/** Resolves if Temporal answers, and rejects if it does not. */
export async function checkTemporal(
  { connection }: TemporalClient,
  timeoutMs: number,
): Promise<void> {
  await connection.withDeadline(Date.now() + timeoutMs, () =>
    connection.workflowService.getSystemInfo({}),
  );
}

/**
 * Whether a call that failed may have had its effect: its deadline passed with Temporal slow. After
 * any other error it had none, as with a connection that is refused.
 */
export function isOutcomeUnknown(error: unknown): boolean {
  return isGrpcDeadlineError(error);
}
