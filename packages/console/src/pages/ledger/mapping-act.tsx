/** Chooses the ledger's account and tax type, from what the ledger has. */
import { useQuery } from "@connectrpc/connect-query";
import { useOrganisation } from "../../data/organisation.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { Skeleton } from "../../design/page/page.tsx";
import { Act, type Typed } from "../../forms/act.tsx";
import { Fields, textOf } from "../../forms/fields.tsx";
import {
  type AccountMapping,
  AccountMappingService,
  LedgerConnectionService,
  MappingKind,
  type MappingOption,
} from "../../gen/billing/admin/v1/ledger_connections_pb.ts";

/** What is mapped: the organisation if it is nothing else. */
export interface Mapped {
  readonly name: string;
  readonly label?: string;
  readonly isInRow?: boolean;
  readonly of: { readonly plan?: string; readonly charge?: string; readonly meter?: string };
  readonly mapping: Pick<AccountMapping, "revenueAccount" | "taxType"> | undefined;
}

/** The act of a row of the mapping. */
export function SetMapping({ name, of, mapping, label = "Choose", isInRow = true }: Mapped) {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label={label}
      isInRow={isInRow}
      title={`Account and tax of ${name}`}
      method={AccountMappingService.method.setAccountMapping}
      request={(values) => {
        const revenueAccount = textOf(values, "revenue_account");
        const taxType = textOf(values, "tax_type");
        return revenueAccount === undefined && taxType === undefined
          ? null
          : { organisation, ...of, revenueAccount, taxType };
      }}
      effect="Map it"
      about={
        "Invoices that are issued from now on have them. Those that the ledger refused " +
        "take them when they are retried."
      }
      done={`${name} is mapped`}
    >
      {(typed) => <Options typed={typed} mapping={mapping} />}
    </Act>
  );
}

function Options({
  typed,
  mapping,
}: {
  readonly typed: Typed;
  readonly mapping: Mapped["mapping"];
}) {
  const { id: organisation } = useOrganisation();
  const method = LedgerConnectionService.method;
  const request = { organisation, kind: MappingKind.ACCOUNTS };
  const accounts = useQuery(method.listMappingOptions, request, { staleTime: 60_000 });
  const rates = useQuery(
    method.listMappingOptions,
    { organisation, kind: MappingKind.TAX_RATES },
    { staleTime: 60_000 },
  );
  const error = accounts.error ?? rates.error;
  if (error) return <ErrorState error={error} onAgain={() => void accounts.refetch()} />;
  if (accounts.data === undefined || rates.data === undefined) return <Skeleton />;
  const { revenueAccount, taxType } = mapping ?? {};
  return (
    <Fields
      {...typed}
      fields={[
        {
          name: "revenue_account",
          label: "Revenue account",
          choices: choicesOf(accounts.data.data, revenueAccount),
        },
        { name: "tax_type", label: "Tax type", choices: choicesOf(rates.data.data, taxType) },
      ]}
    />
  );
}

function choicesOf(
  options: readonly MappingOption[],
  present: string | undefined,
): [string, string][] {
  return [
    ["", present === undefined ? "as it is" : `as it is: ${present}`],
    ...options
      .filter(({ active, usableForRevenue }) => active && usableForRevenue)
      .map(({ code, name }): [string, string] => [code, `${code}, ${name}`]),
  ];
}
