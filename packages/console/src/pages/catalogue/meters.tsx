/** The list of meters. */
import { useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Page } from "../../design/page/page.tsx";
import { EmptyList, Filters } from "../../design/table/filters.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { grouped } from "../../design/values/money.tsx";
import { State } from "../../design/values/state.tsx";
import { type Meter, MeterService, MeterStatus } from "../../gen/billing/admin/v1/meters_pb.ts";
import { choiceOf, choicesOf } from "../../words/choices.ts";
import { meterStates, wordsOf } from "../../words/states.ts";

import { CreateMeter, MeterActs } from "./catalogue-acts.tsx";

const columns: readonly Column<Meter>[] = [
  { title: "Name", cell: ({ name, code }) => <Named name={name} sub={code} /> },
  { title: "State", cell: ({ status }) => <State {...wordsOf(meterStates, status)} /> },
  { title: "Counts", cell: ({ unitLabel }) => unitLabel || "–", from: "tablet" },
  {
    title: "Since",
    cell: ({ created }) => <Instant at={created} withTime={false} />,
    from: "desktop",
  },
  { title: "Plans", cell: ({ plans }) => grouped(plans), isNumber: true },
  { title: "Acts", cell: (meter) => <MeterActs meter={meter} /> },
];

/** Lists meters, newest first. */
export function MetersPage() {
  const { id: organisation } = useOrganisation();
  const search = useSearch({ from: "/signed-in/o/$organisation/meters" });
  const list = useList(MeterService.method.listMeters, {
    organisation,
    limit: pageSize,
    startingAfter: search.after,
    code: search.code,
    status: choiceOf(MeterStatus, search.status),
  });
  return (
    <Page
      title="Meters"
      acts={<CreateMeter />}
      lead="What is counted, and billed when its period has ended."
    >
      <Filters
        tabs={{ key: "status", choices: choicesOf(MeterStatus, meterStates) }}
        typed={[{ key: "code", label: "code" }]}
      />
      <KeysetTable
        name="Meters"
        list={list}
        columns={columns}
        idOf={({ id }) => id}
        empty={
          <EmptyList filters={["status", "code"]}>
            <EmptyState title="No meters yet" docs="guide">
              A meter counts what a subscription uses. A plan says what it costs.
            </EmptyState>
          </EmptyList>
        }
      />
    </Page>
  );
}
