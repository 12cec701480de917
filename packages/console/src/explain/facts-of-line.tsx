/** The facts of a line with where each comes from, and its price sheet as a table. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { describeFact, describeSource } from "../../../../src/domain/explanation/for-person.ts";
import type { NamedSheet, ShownFact, ShownLine } from "../../../../src/domain/explanation/shown.ts";
import { useOrganisation } from "../data/organisation.tsx";
import { Day } from "../design/values/instant.tsx";
import styles from "./explanation.module.css";

/** Shows the facts. */
export function FactsOfLine({
  line,
  sheets,
}: {
  readonly line: ShownLine;
  readonly sheets: readonly NamedSheet[];
}) {
  return (
    <table className={styles.facts}>
      <caption className="unseen">Facts</caption>
      <tbody>
        {line.facts.map((fact) => (
          <tr key={fact.name}>
            <th scope="row">{describeFact(fact)}</th>
            <td>{valueOfFact(fact, sheets)}</td>
            <td>
              <Source of={fact.source} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function valueOfFact({ unit, value }: ShownFact, sheets: readonly NamedSheet[]): ReactNode {
  if (unit === "date") return <Day date={value} />;
  if (unit === "percent") return `${value} %`;
  if (unit !== "price_sheet") return value;
  const sheet = sheets.find(({ name }) => name === value);
  return sheet === undefined ? value : <Sheet sheet={sheet} />;
}

function Sheet({ sheet }: { readonly sheet: NamedSheet }) {
  const { type, price, tiers, free_units: free } = sheet;
  const first = `${type.replaceAll("_", " ")}${free > 0 ? `, ${free} free` : ""}`;
  if (tiers.length === 0) return `${first}, at ${price}`;
  return (
    <>
      {first}:{" "}
      {tiers
        .map(({ up_to: to, unit_price: unit, flat_price: flat }) => {
          const prices = [unit && `${unit} each`, flat && `${flat} once`].filter(Boolean);
          return `${to === null ? "above" : `to ${to}`} ${prices.join(" and ")}`;
        })
        .join("; ")}
    </>
  );
}

const pages = {
  plan: "/o/$organisation/plans/$id",
  subscription: "/o/$organisation/subscriptions/$id",
  period: "/o/$organisation/subscriptions/$id",
  usage_bill: "/o/$organisation/subscriptions/$id",
} as const;

/** What the fact is a field of, as a link if there is a page. */
function Source({ of }: { readonly of: ShownFact["source"] }) {
  const { id: organisation } = useOrganisation();
  const { object, id, field } = of;
  const words = <span title={`${object} ${field}`}>{describeSource(of)}</span>;
  const page = Object.entries(pages).find(([name]) => name === object)?.[1];
  if (id === undefined || page === undefined) return <span className="muted">{words}</span>;
  return (
    <Link to={page} params={{ organisation, id }}>
      {words}
    </Link>
  );
}
