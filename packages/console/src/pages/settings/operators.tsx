/** The operators with their roles, and their tokens. */
import { useQuery } from "@connectrpc/connect-query";
import { useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useIsOwner } from "../../data/operator.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { FactList } from "../../design/page/facts.tsx";
import { Card, Page, Section } from "../../design/page/page.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { State } from "../../design/values/state.tsx";
import {
  type Operator,
  OperatorService,
  type OperatorToken,
} from "../../gen/billing/admin/v1/operators_pb.ts";
import { SessionService } from "../../gen/billing/admin/v1/sessions_pb.ts";
import { credentialStates, operatorRoles, wordsOf } from "../../words/states.ts";

import {
  CreateOperator,
  EndAllSessions,
  EndSession,
  OperatorActs,
  RevokeToken,
} from "./credential-acts.tsx";

const operators: readonly Column<Operator>[] = [
  { title: "Name", cell: ({ name }) => <Named name={name} /> },
  { title: "Role", cell: ({ role }) => operatorRoles[role], from: "under" },
  {
    title: "State",
    cell: ({ active }) =>
      active ? <State word="Active" tone="ok" /> : <State word="Inactive" tone="quiet" />,
  },
  {
    title: "Since",
    cell: ({ created }) => <Instant at={created} withTime={false} />,
    from: "tablet",
  },
  { title: "Acts", cell: (operator) => <OperatorActs operator={operator} /> },
];

const tokens: readonly Column<OperatorToken>[] = [
  {
    title: "Token",
    cell: ({ name, redactedValue }) => <Named name={name} sub={<code>{redactedValue}</code>} />,
  },
  { title: "State", cell: ({ status }) => <State {...wordsOf(credentialStates, status)} /> },
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
  { title: "Act", cell: (token) => <RevokeToken token={token} /> },
];

/** Lists operators and tokens of all organisations, to owners, and the operator's own sessions. */
export function OperatorsPage() {
  return (
    <Page
      title="Operators"
      acts={<CreateOperator />}
      lead="Who may sign in here. They are the same in every organisation."
    >
      {useIsOwner() ? <Everybody /> : <p>Only owners see the operators and their tokens.</p>}
      <Sessions />
    </Page>
  );
}

function Everybody() {
  const { after } = useSearch({ from: "/signed-in/o/$organisation/operators" });
  const people = useList(OperatorService.method.listOperators, {
    limit: pageSize,
    startingAfter: after,
  });
  const theirs = useList(OperatorService.method.listOperatorTokens, { limit: 100 });
  return (
    <>
      <Section title="People and programs">
        <KeysetTable
          name="Operators"
          list={people}
          columns={operators}
          idOf={({ id }) => id}
          empty={<EmptyState title="No operators" />}
        />
      </Section>
      <Section title="Tokens">
        <KeysetTable
          name="Tokens"
          list={theirs}
          columns={tokens}
          idOf={({ id }) => id}
          all={null}
          empty={<EmptyState title="No tokens" />}
        />
      </Section>
    </>
  );
}

/** `Firefox on Windows`. Many browsers name others too, which come later here. */
function browserText(agent: string): string {
  const named = (names: readonly string[]) => names.find((name) => agent.includes(name));
  const browser = named(["Firefox", "Edg", "Chrome", "Safari"]);
  const system = named(["Android", "iPhone", "iPad", "Windows", "Mac", "Linux"]);
  return browser && system ? `${browser.replace("Edg", "Edge")} on ${system}` : agent;
}

/** The browsers in which this operator is signed in. */
function Sessions() {
  const { data } = useQuery(SessionService.method.listSessions, {});
  const list = data?.data ?? [];
  if (list.length === 0) return null;
  return (
    <Section title="Your sessions" beside={<EndAllSessions />}>
      <Card>
        <FactList
          facts={list.map(({ id, userAgent, current, created, endsAt }) => [
            current ? (
              "This browser"
            ) : (
              <span key={id} title={userAgent}>
                {browserText(userAgent)}
              </span>
            ),
            <span key={id}>
              since <Instant at={created} />, ends <Instant at={endsAt} /> at the latest{" "}
              {!current && <EndSession id={id} />}
            </span>,
          ])}
        />
      </Card>
    </Section>
  );
}
