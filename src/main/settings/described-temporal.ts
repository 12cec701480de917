/** The settings of Temporal: the library's, which it reads itself, and ours. */
import type { SettingSection } from "./described-settings.ts";

/** The table of the page. */
export const temporalSection: SettingSection = {
  title: "Temporal",
  settings: [
    {
      names: ["TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE"],
      fallback: "`localhost:7233`, `default`",
      underNpmStart: "embedded",
      meaning: "the server, and the installation's namespace in it",
    },
    {
      names: ["TEMPORAL_API_KEY"],
      fallback: "none",
      meaning: "a key of Temporal Cloud. It switches TLS on",
    },
    {
      names: ["TEMPORAL_TLS"],
      fallback: "`true` if a key or another TLS setting is set",
      meaning: "`true`, `1`, `false` or `0`",
    },
    {
      names: ["TEMPORAL_TLS_CLIENT_CERT_PATH", "TEMPORAL_TLS_CLIENT_KEY_PATH"],
      fallback: "none",
      meaning: "PEM files of mutual TLS, both or none",
    },
    {
      names: ["TEMPORAL_TLS_CLIENT_CERT_DATA", "TEMPORAL_TLS_CLIENT_KEY_DATA"],
      fallback: "none",
      meaning: "the same as PEM texts",
    },
    {
      names: ["TEMPORAL_TLS_SERVER_CA_CERT_PATH", "TEMPORAL_TLS_SERVER_CA_CERT_DATA"],
      fallback: "the public authorities",
      meaning: "the authority of the server's certificate, as a PEM file or text",
    },
    {
      names: ["TEMPORAL_TLS_SERVER_NAME"],
      fallback: "the host of `TEMPORAL_ADDRESS`",
      meaning: "the name in the server's certificate",
    },
    {
      names: ["TEMPORAL_CONFIG_FILE", "TEMPORAL_PROFILE"],
      fallback: "`~/.config/temporalio/temporal.toml`, `default`",
      meaning: "a profile file of @temporalio/envconfig. The environment takes precedence",
    },
    {
      names: ["TEMPORAL_UI_URL"],
      fallback: "none",
      underNpmStart: "the embedded UI's, if it runs",
      meaning:
        "the address of the Temporal UI as operators open it. Subscriptions and their [timeline]" +
        "(command-line.md#a-subscriptions-timeline) then link to it",
    },
    {
      names: ["TASK_QUEUE"],
      meaning:
        "Temporal task queue, one for all processes of an installation, which has its own " +
        "namespace: see [workflows](workflows.md#task-queues)",
    },
    {
      names: ["TEMPORAL_PAYLOAD_KEY"],
      fallback: "none",
      meaning:
        "32 bytes in base64. It [encrypts](operations/temporal.md#encrypted-payloads) what " +
        "Temporal stores of workflows. The same for every process",
    },
    {
      names: ["TEMPORAL_PAYLOAD_KEYS_BEFORE"],
      fallback: "none",
      meaning: "other values of `TEMPORAL_PAYLOAD_KEY`, separated by commas. They only decrypt",
    },
    {
      names: ["TEMPORAL_WORKER_BUILD_ID"],
      fallback: "off",
      meaning:
        "the version of a worker's code, which switches " +
        "[worker versioning](operations/temporal.md#worker-versions) on",
    },
    {
      names: ["TEMPORAL_DEPLOYMENT_NAME"],
      meaning: "the name of the worker deployment that the build ids belong to",
    },
  ],
};
