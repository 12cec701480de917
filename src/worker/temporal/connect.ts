/**
 * The connection to Temporal: address, namespace, TLS and key, and the converter that encrypts
 * payloads.
 */
import { setTimeout } from "node:timers/promises";
import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  type GrpcRetryOptions,
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
  /** Closes the connection after the retries that wait: one on a closed connection would throw. */
  close(): Promise<void>;
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
  const retries = createRetries();
  const connection = Connection.lazy({
    ...connectionOptions,
    interceptors: [makeGrpcRetryInterceptor(retries.options)],
  });
  const dataConverter = dataConverterOf(settings);
  const client = new Client({ connection, namespace, dataConverter, interceptors: { workflow } });
  const close = async () => {
    await retries.end();
    await connection.close();
  };
  return { client, connection, namespace, dataConverter, close };
}

/**
 * The retries of a connection's calls. The SDK's interceptor repeats a call by a timer
 * which nobody can cancel, so the end waits until the last of them is due.
 */
function createRetries() {
  const defaults = defaultGrpcRetryOptions({ maxAttempts: attempts });
  let isClosing = false;
  let lastRetryAt = 0;
  const options: GrpcRetryOptions = {
    retryableDecider: (attempt, status) => !isClosing && defaults.retryableDecider(attempt, status),
    delayFunction: (attempt, status) => {
      const delayMs = defaults.delayFunction(attempt, status);
      lastRetryAt = Math.max(lastRetryAt, performance.now() + delayMs);
      return delayMs;
    },
  };
  const end = async () => {
    isClosing = true;
    // A timer may be due a millisecond later than asked.
    const waitMs = lastRetryAt - performance.now() + 2;
    if (lastRetryAt > 0 && waitMs > 0) await setTimeout(waitMs);
  };
  return { options, end };
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
