/** The tiers of a plan that is being typed, as a table. */
import { Button, CloseButton } from "@mantine/core";
import styles from "../../forms/forms.module.css";
import type { TypedTier } from "./typed-prices.ts";

interface TierInputsProps {
  readonly tiers: readonly TypedTier[];
  /** Whether a unit has a price of its tier. A stairstep has only what its step costs. */
  readonly hasEach: boolean;
  readonly onChange: (tiers: readonly TypedTier[]) => void;
}

/** Shows the table, with a row more or less at a click. */
export function TierInputs({ tiers, hasEach, onChange }: TierInputsProps) {
  const set = (index: number, change: Partial<TypedTier>) =>
    onChange(tiers.map((tier, at) => (at === index ? { ...tier, ...change } : tier)));
  const add = () => {
    const before = Number(tiers.at(-2)?.upTo ?? 0);
    const added = { upTo: String(before + 10), each: "", once: "" };
    onChange([...tiers.slice(0, -1), added, ...tiers.slice(-1)]);
  };
  const columns = [
    ["upTo", "Up to"],
    ...(hasEach ? [["each", "Each"] as const] : []),
    ["once", "Once"],
  ] as const;
  return (
    <div>
      <table className={styles.tiers}>
        <caption>Tiers</caption>
        <thead>
          <tr>
            {columns.map(([name, label]) => (
              <th key={name} scope="col">
                {label}
              </th>
            ))}
            <td />
          </tr>
        </thead>
        <tbody>
          {tiers.map((tier, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a tier has no name but its place
            <tr key={index}>
              {columns.map(([name, label]) => (
                <td key={name}>
                  {name === "upTo" && index === tiers.length - 1 ? (
                    "without end"
                  ) : (
                    <input
                      aria-label={`${label}, tier ${index + 1}`}
                      inputMode="decimal"
                      value={tier[name]}
                      onChange={(event) => set(index, { [name]: event.currentTarget.value })}
                    />
                  )}
                </td>
              ))}
              <td>
                <CloseButton
                  aria-label={`Remove tier ${index + 1}`}
                  disabled={tiers.length === 1 || index === tiers.length - 1}
                  onClick={() => onChange(tiers.filter((_, at) => at !== index))}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <Button variant="default" size="xs" onClick={add}>
        Add a tier
      </Button>
    </div>
  );
}
