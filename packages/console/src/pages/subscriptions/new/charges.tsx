/** One-off charges on the first invoice of a new subscription. */
import { Button, CloseButton, NativeSelect, TextInput } from "@mantine/core";
import { useList } from "../../../data/list.ts";
import { useOrganisation } from "../../../data/organisation.tsx";
import { amountText } from "../../../design/values/money.tsx";
import { ChargeService, type Plan } from "../../../gen/billing/admin/v1/catalogue_pb.ts";
import { CatalogueStatus } from "../../../gen/billing/v1/common_pb.ts";
import styles from "./new.module.css";

/** A charge as it is typed. */
export interface ChosenCharge {
  readonly key: string;
  readonly code: string;
  readonly quantity: string;
  readonly price: string;
}

/** Returns the charges of the request. */
export function chargesOf(charges: readonly ChosenCharge[]) {
  return charges.map(({ code, quantity, price }) => ({
    chargeCode: code,
    quantity: Number(quantity) || 1,
    ...(price.trim() !== "" && { price: price.trim() }),
  }));
}

/** The charges, each with how many and its price. */
export function Charges({
  plan: { currency },
  charges,
  onChange,
}: {
  readonly plan: Plan;
  readonly charges: readonly ChosenCharge[];
  readonly onChange: (charges: readonly ChosenCharge[]) => void;
}) {
  const { id: organisation } = useOrganisation();
  const request = { organisation, limit: 100, status: CatalogueStatus.ACTIVE };
  const list = useList(ChargeService.method.listCharges, request);
  const offered = (list.data?.data ?? []).filter((charge) => charge.currency === currency);
  const set = (key: string, changes: Partial<ChosenCharge>) =>
    onChange(charges.map((each) => (each.key === key ? { ...each, ...changes } : each)));
  const [first] = offered;
  if (first === undefined) return null;
  return (
    <>
      {charges.map(({ key, code, quantity, price }) => {
        const charge = offered.find((each) => each.code === code);
        return (
          <div key={key} className={styles.charge}>
            <NativeSelect
              label="One-off charge"
              data={offered.map(({ code: value, name }) => ({ value, label: name }))}
              value={code}
              onChange={(event) => set(key, { code: event.currentTarget.value, price: "" })}
            />
            <TextInput
              label="How many"
              inputMode="numeric"
              value={quantity}
              onChange={(event) => set(key, { quantity: event.currentTarget.value })}
            />
            <TextInput
              label={`Price in ${currency}`}
              placeholder={charge && amountText(charge.price, currency)}
              disabled={charge?.allowsPriceOverride !== true}
              value={price}
              onChange={(event) => set(key, { price: event.currentTarget.value })}
            />
            <CloseButton
              aria-label="Remove the charge"
              onClick={() => onChange(charges.filter((each) => each.key !== key))}
            />
          </div>
        );
      })}
      <div>
        <Button
          variant="default"
          onClick={() => {
            const added = { key: crypto.randomUUID(), code: first.code, quantity: "1", price: "" };
            onChange([...charges, added]);
          }}
        >
          Add a one-off charge
        </Button>
      </div>
    </>
  );
}
