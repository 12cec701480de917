/** The audit: what operators changed, with before and after. */
import { useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { Disclosure } from "../../design/page/disclosure.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Page } from "../../design/page/page.tsx";
import { EmptyList, Filters } from "../../design/table/filters.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { Copyable } from "../../design/values/copyable.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { type AuditEntry, AuditService } from "../../gen/billing/admin/v1/audit_pb.ts";
import styles from "./activity.module.css";
import { ObjectLink } from "./object-link.tsx";

const typed = [
  { key: "target", label: "object id" },
  { key: "operator", label: "operator id" },
];

const columns: readonly Column<AuditEntry>[] = [
  {
    title: "What",
    cell: (entry) => (
      <>
        <Named
          name={inWords(entry.operation)}
          sub={
            <>
              by {entry.operatorName}, <Instant at={entry.created} />
            </>
          }
        />
        <Change entry={entry} />
      </>
    ),
  },
  {
    title: "Object",
    cell: ({ targetKind, target }) => <ObjectLink kind={targetKind} id={target} />,
  },
];

/** `subscription_service.change_units` or `ChangeUnits` as words. */
function inWords(operation: string): string {
  const name = operation.split(/[./]/).at(-1) ?? operation;
  const words = name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Lists the entries, newest first. */
export function AuditPage() {
  const { id: organisation } = useOrganisation();
  const search = useSearch({ from: "/signed-in/o/$organisation/audit" });
  const list = useList(AuditService.method.listAuditEntries, {
    limit: pageSize,
    startingAfter: search.after,
    operator: search.operator,
    target: search.target,
    ...(search.everywhere === undefined && { organisation }),
  });
  return (
    <Page title="Audit" lead="What operators changed. The service writes it with the change.">
      <Filters
        tabs={{
          key: "everywhere",
          choices: [["yes", "Everywhere"]],
          all: "Of this organisation",
        }}
        typed={typed}
      />
      <KeysetTable
        name="Audit"
        list={list}
        columns={columns}
        idOf={({ id }) => id}
        empty={
          <EmptyList filters={["operator", "target"]}>
            <EmptyState title="No operator has changed anything here" docs="operations/admin" />
          </EmptyList>
        }
      />
    </Page>
  );
}

const text = (value: unknown) =>
  value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value);

/** What changed, member by member. */
function Change({ entry }: { readonly entry: AuditEntry }) {
  const { before = {}, after = {}, requestId } = entry;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  return (
    <Disclosure title={names.length === 1 ? "1 change" : `${names.length} changes`}>
      <dl className={styles.change}>
        {names.map((name) => (
          <div key={name} style={{ display: "contents" }}>
            <dt className="muted">{name.replaceAll("_", " ")}</dt>
            <dd>
              {name in before && <del>{text(before[name])}</del>}
              {name in before && name in after && " → "}
              {name in after && <ins>{text(after[name])}</ins>}
            </dd>
          </div>
        ))}
      </dl>
      {requestId !== undefined && (
        <p className="muted">
          Request <Copyable text={requestId} what="request id" />
        </p>
      )}
    </Disclosure>
  );
}
