/** The meters of a plan that is being typed, each with what its usage costs. */
import { useQuery } from "@connectrpc/connect-query";
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useOrganisation } from "../../data/organisation.tsx";
import styles from "../../forms/forms.module.css";
import type { PlanMeter } from "../../gen/billing/admin/v1/catalogue_pb.ts";
import { type Meter, MeterService, MeterStatus } from "../../gen/billing/admin/v1/meters_pb.ts";
import { PlanType } from "../../gen/billing/v1/catalogue_pb.ts";
import { TierInputs } from "./tier-inputs.tsx";
import { emptyTiers, hasTiers, pricesOf, type TypedPrices, typedPrices } from "./typed-prices.ts";

/** A meter with its prices as they are typed. */
export interface TypedMeter extends TypedPrices {
  readonly meter: string;
  readonly name: string;
}

/** Returns what the form begins with. */
export function typedMeters(meters: readonly PlanMeter[]): readonly TypedMeter[] {
  return meters.map((each) => ({ meter: each.meter, name: each.name, ...typedPrices(each) }));
}

/** Returns the members of a request, or null while a price is missing. */
export function metersOf(typed: readonly TypedMeter[]) {
  const meters = typed.flatMap(({ meter, name: _, ...prices }) => {
    const members = pricesOf(prices);
    return members === null ? [] : [{ meter, type: prices.type, ...members }];
  });
  return meters.length < typed.length ? null : meters;
}

const types = [
  [PlanType.PER_UNIT, "A price for each"],
  [PlanType.TIERED, "Tiered: each tier has its price"],
  [PlanType.VOLUME, "Volume: all has the price of the tier it reaches"],
  [PlanType.STAIRSTEP, "Stairstep: a price for each step"],
] as const;

/** The most meters of a plan. */
const most = 20;

/** Shows the meters, with one more or less at a click. */
export function MeterInputs({
  typed,
  onChange,
}: {
  readonly typed: readonly TypedMeter[];
  readonly onChange: (typed: readonly TypedMeter[]) => void;
}) {
  const { id: organisation } = useOrganisation();
  const request = { organisation, status: MeterStatus.ACTIVE, limit: 100 };
  const { data } = useQuery(MeterService.method.listMeters, request);
  const free = (data?.data ?? []).filter(({ id }) => typed.every(({ meter }) => meter !== id));
  const set = (index: number, change: Partial<TypedMeter>) =>
    onChange(typed.map((each, at) => (at === index ? { ...each, ...change } : each)));
  const [next] = free;
  return (
    <section className={styles.form} aria-label="Usage">
      <strong>Usage</strong>
      {data?.data.length === 0 && (
        <p className="muted">
          Usage is billed by meters, and there is none yet:{" "}
          <Link to="/o/$organisation/meters" params={{ organisation }}>
            create a meter
          </Link>
          .
        </p>
      )}
      {typed.map((each, index) => (
        <MeterInput
          // biome-ignore lint/suspicious/noArrayIndexKey: another meter is chosen in its place
          key={index}
          typed={each}
          others={free}
          onChange={(change) => set(index, change)}
          onRemove={() => onChange(typed.filter((_, at) => at !== index))}
        />
      ))}
      {next !== undefined && typed.length < most && (
        <Button
          variant="default"
          size="xs"
          onClick={() =>
            onChange([
              ...typed,
              {
                meter: next.id,
                name: next.name,
                type: PlanType.PER_UNIT,
                price: "",
                tiers: emptyTiers,
              },
            ])
          }
        >
          Add a meter
        </Button>
      )}
    </section>
  );
}

interface MeterInputProps {
  readonly typed: TypedMeter;
  /** The meters that the plan does not have yet. */
  readonly others: readonly Meter[];
  readonly onChange: (change: Partial<TypedMeter>) => void;
  readonly onRemove: () => void;
}

function MeterInput({ typed, others, onChange, onRemove }: MeterInputProps) {
  const { meter, name, type, price, tiers } = typed;
  return (
    <fieldset className={styles.meter}>
      <legend>{name}</legend>
      <NativeSelect
        label="Meter"
        value={meter}
        data={[
          { value: meter, label: name },
          ...others.map((each) => ({ value: each.id, label: each.name })),
        ]}
        onChange={({ currentTarget: { value } }) =>
          onChange({ meter: value, name: others.find(({ id }) => id === value)?.name ?? name })
        }
      />
      <NativeSelect
        label="What its usage costs"
        value={String(type)}
        data={types.map(([value, label]) => ({ value: String(value), label }))}
        onChange={(event) => onChange({ type: Number(event.currentTarget.value) as PlanType })}
      />
      {hasTiers(type) ? (
        <TierInputs
          tiers={tiers}
          hasEach={type !== PlanType.STAIRSTEP}
          onChange={(changed) => onChange({ tiers: changed })}
        />
      ) : (
        <TextInput
          label="Price of each"
          required
          withAsterisk={false}
          autoComplete="off"
          maxLength={14}
          value={price}
          onChange={(event) => onChange({ price: event.currentTarget.value })}
        />
      )}
      <Button variant="default" size="xs" onClick={onRemove}>
        Remove {name}
      </Button>
    </fieldset>
  );
}
