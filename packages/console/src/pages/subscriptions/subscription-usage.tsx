/** What a subscription used, by period and meter. */
import { useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Section } from "../../design/page/page.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { type UsageEvent, UsageService } from "../../gen/billing/admin/v1/usage_pb.ts";
import { usageColumns, usageEventColumns } from "../usage/columns.tsx";
import { VoidEvent } from "../usage/void-event.tsx";

const withActs: readonly Column<UsageEvent>[] = [
  ...usageEventColumns,
  { title: "Act", cell: (event) => <VoidEvent event={event} /> },
];

/** Lists the usage of a subscription, and its last events. */
export function SubscriptionUsage({ id, meter }: { readonly id: string; readonly meter?: string }) {
  const { id: organisation } = useOrganisation();
  const { after }: { readonly after?: string } = useSearch({ strict: false });
  const request = { organisation, subscription: id, meter };
  const usage = useList(UsageService.method.listUsage, { ...request, limit: 100 });
  const events = useList(UsageService.method.listUsageEvents, {
    ...request,
    limit: pageSize,
    startingAfter: after,
  });
  return (
    <>
      <Section title="By period">
        <KeysetTable
          name="Usage"
          list={usage}
          columns={usageColumns}
          idOf={({ id: each }) => each}
          all={null}
          empty={<EmptyState title="No usage yet">Its plan may have no meter.</EmptyState>}
        />
      </Section>
      <Section title="Last events">
        <KeysetTable
          name="Usage events"
          list={events}
          columns={withActs}
          idOf={({ id: each }) => each}
          empty={<EmptyState title="No events yet" docs="guide" />}
        />
      </Section>
    </>
  );
}
