/** The API keys of the organisation's platform. */
import { useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Page } from "../../design/page/page.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { State } from "../../design/values/state.tsx";
import { type ApiKey, ApiKeyService } from "../../gen/billing/admin/v1/api_keys_pb.ts";
import { credentialStates, wordsOf } from "../../words/states.ts";

import { CreateApiKey, RevokeApiKey } from "./credential-acts.tsx";

const columns: readonly Column<ApiKey>[] = [
  {
    title: "Name",
    cell: ({ name, redactedValue }) => <Named name={name} sub={<code>{redactedValue}</code>} />,
  },
  { title: "State", cell: ({ status }) => <State {...wordsOf(credentialStates, status)} /> },
  {
    title: "Scopes",
    cell: ({ scopes }) => (scopes.length === 8 ? "all" : scopes.join(", ")),
    from: "desktop",
  },
  {
    title: "Last used",
    cell: ({ lastUsedAt }) => (lastUsedAt === undefined ? "never" : <Instant at={lastUsedAt} />),
    from: "tablet",
  },
  {
    title: "Expires",
    cell: ({ expiresAt }) =>
      expiresAt === undefined ? "never" : <Instant at={expiresAt} withTime={false} />,
    from: "desktop",
  },
  { title: "Act", cell: (apiKey) => <RevokeApiKey apiKey={apiKey} /> },
];

/** Lists keys, newest first. */
export function ApiKeysPage() {
  const { id: organisation } = useOrganisation();
  const { after } = useSearch({ from: "/signed-in/o/$organisation/api-keys" });
  const list = useList(ApiKeyService.method.listApiKeys, {
    organisation,
    limit: pageSize,
    startingAfter: after,
  });
  return (
    <Page
      title="API keys"
      acts={<CreateApiKey />}
      lead="With a key the platform calls the public API of this organisation."
    >
      <KeysetTable
        name="API keys"
        list={list}
        columns={columns}
        idOf={({ id }) => id}
        empty={<EmptyState title="No keys yet" docs="guide" />}
      />
    </Page>
  );
}
