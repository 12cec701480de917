/**
 * The fields of a connection with own credentials, and their check (ADMIN-3). Each kind of
 * ledger declares which fields it has.
 */

/** The fields that a connection can have, by their names in the admin API. */
export const connectionFieldNames = [
  "tenant_id",
  "client_id",
  "client_secret",
  "base_url",
  "identity_url",
] as const;

/** The name of a field. */
type ConnectionFieldName = (typeof connectionFieldNames)[number];

/**
 * One field.
 * - `fallback`: its value if the request has none. Null: the request must have one.
 * - `isSecret`: it is stored encrypted, and no answer, log or audit entry has it.
 * - `isAddress`: it is an address without query, to which the secret may be sent.
 * - `faultOf`: says what is wrong with a value (`must be …`), or null.
 */
export interface ConnectionField {
  readonly fallback: string | null;
  readonly isSecret: boolean;
  readonly isAddress: boolean;
  readonly faultOf: (value: string) => string | null;
}

/** A field that every request has, and of which only the ledger can say whether it is right. */
export const plainField: ConnectionField = {
  fallback: null,
  isSecret: false,
  isAddress: false,
  faultOf: () => null,
};

/** The fields of a kind of ledger. The request must not have another field. */
export type ConnectionForm = Readonly<Partial<Record<ConnectionFieldName, ConnectionField>>>;

/** A value for each field. Fields that the kind does not have are empty. */
type ConnectionValues = Readonly<Record<ConnectionFieldName, string>>;

/** The checked values, or the first field that is wrong. */
type FilledForm =
  | { readonly kind: "ok"; readonly values: ConnectionValues }
  | { readonly kind: "wrong"; readonly field: ConnectionFieldName; readonly message: string };

/**
 * Checks the values of a request in the order of the fields and fills in the fallbacks.
 * `addressFaultOf` says what is wrong with an address. It gets a correct example.
 */
export function fillForm(
  form: ConnectionForm,
  requested: Readonly<Partial<Record<ConnectionFieldName, string | undefined>>>,
  addressFaultOf: (address: string, example: string | null) => string | null,
): FilledForm {
  const values: Record<ConnectionFieldName, string> = {
    tenant_id: "",
    client_id: "",
    client_secret: "",
    base_url: "",
    identity_url: "",
  };
  for (const name of connectionFieldNames) {
    const [field, value] = [form[name], requested[name]];
    if (field === undefined) {
      if (value !== undefined) return wrong(name, "is no field of this kind of ledger");
      continue;
    }
    if (value === undefined && field.fallback === null) return wrong(name, "is required");
    const fault =
      value === undefined
        ? null
        : (field.faultOf(value) ??
          (field.isAddress ? addressFaultOf(value, field.fallback) : null));
    if (fault !== null) return wrong(name, fault);
    values[name] = value ?? field.fallback ?? "";
  }
  return { kind: "ok", values };
}

function wrong(field: ConnectionFieldName, fault: string): FilledForm {
  return { kind: "wrong", field, message: `${field} ${fault}` };
}
