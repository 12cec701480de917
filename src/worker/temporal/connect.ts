/** The connection to Temporal as the environment has it: address, namespace, TLS and key by the SDK's own settings. */
import { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from "@temporalio/client";
import { loadClientConnectConfig } from "@temporalio/envconfig";

/** A client that connects when it is first used, so that an API process starts with Temporal down. */
export interface TemporalClient {
  readonly client: Client;
  readonly connection: Connection;
  readonly namespace: string;
}

/** How often a call is tried before it fails: the SDK's ten take 20 seconds when nothing listens. Facts: facts-temporal 2.2. */
const attempts = 3;

/** The client; settings are `TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS…` or a profile file. */
export function connectTemporal(): TemporalClient {
  const { connectionOptions, namespace = "default" } = loadClientConnectConfig();
  const connection = Connection.lazy({
    ...connectionOptions,
    interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: attempts }))],
  });
  return { client: new Client({ connection, namespace }), connection, namespace };
}

/** Whether Temporal answers; rejects where it does not. */
export async function checkTemporal({ connection }: TemporalClient, timeoutMs: number): Promise<void> {
  await connection.withDeadline(Date.now() + timeoutMs, () => connection.workflowService.getSystemInfo({}));
}
