/** The mapping: the ledger's account and tax type of each plan, charge and meter. */
import { useQuery } from "@connectrpc/connect-query";
import { useOrganisation } from "../../data/organisation.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { Section, Skeleton } from "../../design/page/page.tsx";
import { Named } from "../../design/table/named.tsx";
import table from "../../design/table/table.module.css";
import { State } from "../../design/values/state.tsx";
import {
  type AccountMapping,
  AccountMappingService,
  type CatalogueMapping,
} from "../../gen/billing/admin/v1/ledger_connections_pb.ts";
import { type Mapped, SetMapping } from "./mapping-act.tsx";

/** Shows what is mapped, and what takes the organisation's. */
export function Mapping() {
  const { id: organisation } = useOrganisation();
  const read = useQuery(AccountMappingService.method.getAccountMapping, { organisation });
  if (read.error) return <ErrorState error={read.error} onAgain={() => void read.refetch()} />;
  if (read.data === undefined) return <Skeleton lines={6} />;
  const { default: organisations, plans, charges, meters } = read.data;
  return (
    <Section title="Accounts and tax">
      <p className="muted">
        A plan is mapped on its page, a charge or a meter in its list. One that is cleared takes the
        organisation's.
      </p>
      <div className={table.frame}>
        <table className={table.table}>
          <thead>
            <tr>
              <th scope="col">Here</th>
              <th scope="col">Account</th>
              <th scope="col">Tax type</th>
              <th scope="col" className={table.tablet}>
                State
              </th>
              <th scope="col">
                <span className="unseen">Act</span>
              </th>
            </tr>
          </thead>
          <tbody>
            <Row
              name="The organisation"
              kind="for all that has no other"
              of={{}}
              mapping={organisations}
            />
            {[
              ...plans.map((each) => [each, "plan"] as const),
              ...charges.map((each) => [each, "charge"] as const),
              ...meters.map((each) => [each, "meter"] as const),
            ].map(([each, kind]) => (
              <Row key={each.id} {...rowOf(each, kind)} fallback={organisations} />
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

function rowOf({ id, name, code, mapping }: CatalogueMapping, kind: "plan" | "charge" | "meter") {
  return { name, kind: `${kind} ${code}`, of: { [kind]: id }, mapping };
}

function Row({
  name,
  kind,
  of,
  mapping,
  fallback,
}: Mapped & {
  readonly kind: string;
  readonly fallback?: AccountMapping | undefined;
}) {
  const account = mapping?.revenueAccount ?? fallback?.revenueAccount;
  const tax = mapping?.taxType ?? fallback?.taxType;
  const own = mapping?.revenueAccount !== undefined || mapping?.taxType !== undefined;
  return (
    <tr>
      <td>
        <Named name={name} sub={kind} />
      </td>
      <td>{account ?? "–"}</td>
      <td>{tax ?? "–"}</td>
      <td className={table.tablet}>
        {account === undefined ? (
          <State word="Not mapped: nothing of it can be billed" tone="bad" />
        ) : own ? (
          <State word="Mapped" tone="ok" />
        ) : (
          <State word="As the organisation" tone="quiet" />
        )}
      </td>
      <td>
        <SetMapping name={name} of={of} mapping={mapping} />
      </td>
    </tr>
  );
}
