/** The tiers of a plan or of a meter on it. */

import table from "../../design/table/table.module.css";
import { grouped, Money } from "../../design/values/money.tsx";
import type { Tier } from "../../gen/billing/v1/catalogue_pb.ts";

/** Shows tiers as a table. */
export function Tiers({
  tiers,
  currency,
  word,
}: {
  readonly tiers: readonly Tier[];
  readonly currency: string;
  readonly word: string;
}) {
  const price = (text: string | undefined) =>
    text === undefined ? "–" : <Money amount={text} currency={currency} />;
  return (
    <div className={table.frame}>
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">From, in {word}</th>
            <th scope="col">To</th>
            <th scope="col" className={table.numeric}>
              Each
            </th>
            <th scope="col" className={table.numeric}>
              Once
            </th>
          </tr>
        </thead>
        <tbody>
          {tiers.map(({ from, upTo, unitPrice, flatPrice }) => (
            <tr key={from}>
              <td>{grouped(from)}</td>
              <td>{upTo === undefined ? "without end" : grouped(upTo)}</td>
              <td className={table.numeric}>{price(unitPrice)}</td>
              <td className={table.numeric}>{price(flatPrice)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
