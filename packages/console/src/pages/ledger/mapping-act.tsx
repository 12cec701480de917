/** Chooses the ledger's account and tax type, from what the ledger has. */
import { useQuery } from "@connectrpc/connect-query";
import { useOrganisation } from "../../data/organisation.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { Skeleton } from "../../design/page/page.tsx";
import { Act, type Typed } from "../../forms/act.tsx";
import { Fields, textOf, type Values } from "../../forms/fields.tsx";
import {
  type AccountMapping,
  AccountMappingService,
  LedgerConnectionService,
  MappingKind,
  type MappingOption,
} from "../../gen/billing/admin/v1/ledger_connections_pb.ts";

type Codes = Pick<AccountMapping, "revenueAccount" | "taxType">;

/** What is mapped: the organisation if it is nothing else. */
export interface Mapped {
  readonly name: string;
  readonly label?: string;
  readonly isInRow?: boolean;
  readonly of: { readonly plan?: string; readonly charge?: string; readonly meter?: string };
  readonly mapping: Codes | undefined;
}

/** The act of a row. The whole mapping is replaced, so that its codes are cleared too. */
export function SetMapping({ name, of, mapping, label = "Choose", isInRow = true }: Mapped) {
  const { id: organisation } = useOrganisation();
  const { revenueAccount: account = "", taxType: tax = "" } = mapping ?? {};
  const isCleared = (values: Values) =>
    account + tax !== "" && values.revenue_account === "" && values.tax_type === "";
  return (
    <Act
      label={label}
      isInRow={isInRow}
      title={`Account and tax of ${name}`}
      method={AccountMappingService.method.setAccountMapping}
      fields={[
        { ...unseen, name: "revenue_account", initial: account },
        { ...unseen, name: "tax_type", initial: tax },
      ]}
      request={(values) =>
        values.revenue_account === account && values.tax_type === tax
          ? null
          : {
              organisation,
              ...of,
              revenueAccount: textOf(values, "revenue_account"),
              taxType: textOf(values, "tax_type"),
            }
      }
      effect={(values) => (isCleared(values) ? "Clear the mapping" : "Map it")}
      about={
        "Invoices that are issued from now on have them. Those that the ledger refused " +
        "take them when they are retried."
      }
      done={({ mapping: became }) =>
        became?.revenueAccount === undefined && became?.taxType === undefined
          ? `The mapping of ${name} was cleared`
          : `${name} was mapped`
      }
    >
      {(typed) => <Options typed={typed} isDefault={Object.keys(of).length === 0} />}
    </Act>
  );
}

/** Asked for once the ledger has answered what it has. */
const unseen = { label: "", kind: "hidden", isOptional: true } as const;

function Options({ typed, isDefault }: { readonly typed: Typed; readonly isDefault: boolean }) {
  const { id: organisation } = useOrganisation();
  const { method } = LedgerConnectionService;
  const options = { staleTime: 60_000 };
  const ofKind = (kind: MappingKind) => ({ organisation, kind });
  const reads = [
    useQuery(method.listMappingOptions, ofKind(MappingKind.ACCOUNTS), options),
    useQuery(method.listMappingOptions, ofKind(MappingKind.TAX_RATES), options),
  ] as const;
  const wider = useQuery(
    AccountMappingService.method.getAccountMapping,
    { organisation },
    { enabled: !isDefault },
  );
  const [accounts, rates] = reads;
  const error = accounts.error ?? rates.error;
  const again = () => reads.forEach((read) => void read.refetch());
  if (error) return <ErrorState error={error} onAgain={again} />;
  if (accounts.data === undefined || rates.data === undefined) return <Skeleton />;
  const none = (code: string | undefined) =>
    isDefault ? "none" : `as the organisation: ${code ?? "none"}`;
  const field = (name: string, label: string, all: readonly MappingOption[], words: string) => ({
    name,
    label,
    choices: choicesOf(all, typed.values[name] ?? "", words),
  });
  const { revenueAccount, taxType } = wider.data?.default ?? {};
  return (
    <Fields
      {...typed}
      fields={[
        field("revenue_account", "Revenue account", accounts.data.data, none(revenueAccount)),
        field("tax_type", "Tax type", rates.data.data, none(taxType)),
      ]}
    />
  );
}

/** What the ledger takes, and the present code also if it does not take that any more. */
function choicesOf(
  options: readonly MappingOption[],
  present: string,
  none: string,
): [string, string][] {
  const usable = options.filter(({ active, usableForRevenue }) => active && usableForRevenue);
  const isKnown = present === "" || usable.some(({ code }) => code === present);
  return [
    ["", none],
    ...(isKnown
      ? []
      : [[present, `${present}, which the ledger does not take`] as [string, string]]),
    ...usable.map(({ code, name }): [string, string] => [code, `${code}, ${name}`]),
  ];
}
