/**
 * The connection to Temporal by the environment: the SDK's own settings for address, namespace, TLS
 * and key.
 */
import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  type WorkflowClientInterceptor,
} from "@temporalio/client";
import { loadClientConnectConfig } from "@temporalio/envconfig";

/**
 * A client that connects at its first use, so that an API process starts with Temporal down
 * (INVARIANT-9).
 */
export interface TemporalClient {
  readonly client: Client;
  readonly connection: Connection;
  readonly namespace: string;
}

/**
 * How often a call is tried before it fails. The SDK's ten attempts take 20 seconds if Temporal is
 * down.
 */
const attempts = 3;

/**
 * Creates the client. Its settings are `TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`,
 * `TEMPORAL_API_KEY`, `TEMPORAL_TLS…` or a profile file. `workflow` are interceptors of its calls
 * about workflows, the outermost first.
 */
export function connectTemporal(workflow: WorkflowClientInterceptor[] = []): TemporalClient {
  const { connectionOptions, namespace = "default" } = loadClientConnectConfig();
  const connection = Connection.lazy({
    ...connectionOptions,
    interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: attempts }))],
  });
  const client = new Client({ connection, namespace, interceptors: { workflow } });
  return { client, connection, namespace };
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
