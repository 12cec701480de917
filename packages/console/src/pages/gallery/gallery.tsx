/** Each component in each of its states, for whoever changes one. Development only. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { ReactNode } from "react";
import { Bars } from "../../charts/bars.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { FactList, FactRow } from "../../design/page/facts.tsx";
import { Card, Page, Section, Skeleton } from "../../design/page/page.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { Copyable } from "../../design/values/copyable.tsx";
import { Day } from "../../design/values/instant.tsx";
import { Money } from "../../design/values/money.tsx";
import { State, type Tone } from "../../design/values/state.tsx";
import { Secret } from "../../forms/secret.tsx";
import { PlanType } from "../../gen/billing/v1/catalogue_pb.ts";
import { PlanCurve } from "../catalogue/plan-curve.tsx";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly amount: string;
}

const longName = "W".repeat(80);
const columns: readonly Column<Row>[] = [
  { title: "Name", cell: ({ name, id }) => <Named name={name} sub={id} /> },
  { title: "Since", cell: () => <Day date="2026-11-28" />, from: "tablet" },
  {
    title: "Value",
    cell: ({ amount }) => <Money amount={amount} currency="NZD" />,
    isNumber: true,
  },
];
const rows = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `row-${index}`,
    name: index % 3 === 1 ? longName : "Head office",
    amount: index % 3 === 1 ? "123456789.0000" : "12.5000",
  }));
const lists: readonly (readonly [string, readonly Row[] | undefined, ConnectError | null])[] = [
  ["Being read", undefined, null],
  ["Nothing", [], null],
  ["Few", rows(3), null],
  ["Many", rows(100), null],
  ["Not answered", undefined, new ConnectError("lost", Code.Unavailable)],
];
const tones: readonly Tone[] = ["ok", "info", "warn", "bad", "quiet"];
const kinds = [
  { label: "billed", tone: "ok" },
  { label: "failed", tone: "bad" },
  { label: "due", tone: "accent" },
] as const;
const bars = Array.from({ length: 61 }, (_, index) => ({
  name: `Day ${index}`,
  figures: [(index * 7) % 11, index % 13 === 0 ? 2 : 0, (index * 5) % 7],
  isNow: index === 30,
}));
const tiers = [
  { upTo: 10, unitPrice: "7" },
  { unitPrice: "5", flatPrice: "20" },
];

/** The page. */
export function GalleryPage(): ReactNode {
  return (
    <Page title={`Gallery ${longName}`} lead="Each component in each of its states.">
      <Section title="States">
        {tones.map((tone) => (
          <p key={tone}>
            <State word={tone} tone={tone} />
          </p>
        ))}
      </Section>
      <FactRow
        facts={[
          ["Name", longName],
          ["Value", <Money key="v" amount="1" currency="JPY" />],
        ]}
      />
      <Card>
        <FactList facts={[["Id", <Copyable key="id" text="019f0000-0000" what="id" />]]} />
      </Card>
      <Section title="Places">
        <Skeleton />
        <EmptyState title="Nothing yet" docs="guide">
          Why it matters.
        </EmptyState>
        <ErrorState error={new ConnectError("lost", Code.Unavailable)} isWrite />
        <Secret text="sk_test_1" what="key" />
      </Section>
      <Section title="Charts">
        <Bars title="Bars" kinds={kinds} bars={bars} ends={["Day 0", "Day 60"]} />
        <PlanCurve
          plan={{
            type: PlanType.TIERED,
            currency: "NZD",
            price: "0",
            freeUnits: 0,
            minimumUnits: 0,
            tiers,
          }}
        />
      </Section>
      {lists.map(([title, data, error]) => (
        <Section key={title} title={title}>
          <KeysetTable
            name={title}
            columns={columns}
            idOf={({ id }) => id}
            empty={<EmptyState title="None" />}
            list={{
              data: data && { data, hasMore: false },
              error,
              isPlaceholderData: false,
              isFetching: false,
              refetch: async () => Promise.reject(error),
            }}
          />
        </Section>
      ))}
    </Page>
  );
}
