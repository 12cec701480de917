/** The fields of a form as data. Each has a label, and its fault beside it. */
import { NativeSelect, PasswordInput, Textarea, TextInput } from "@mantine/core";
import styles from "./forms.module.css";

/** What is typed, by the name of the field. A box that is ticked is `yes`. */
export type Values = Readonly<Record<string, string>>;

/** A field. Its name is the path that the service reports as at fault. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly kind?: "text" | "whole" | "secret" | "long" | "box" | "day" | "hidden";
  /** A sentence below the label. */
  readonly about?: string;
  readonly initial?: string | undefined;
  readonly isOptional?: boolean;
  readonly max?: number;
  readonly choices?: readonly (readonly [value: string, label: string])[];
}

/** Returns the values that a form begins with. */
export function initialValues(fields: readonly Field[]): Values {
  return Object.fromEntries(
    fields.map(({ name, initial, choices }) => [name, initial ?? choices?.[0]?.[0] ?? ""]),
  );
}

/** Whether every field that is required has a value. */
export function isFilled(fields: readonly Field[], values: Values): boolean {
  return fields.every(
    ({ name, isOptional, kind }) => isOptional || kind === "box" || values[name]?.trim(),
  );
}

/** Returns the typed text, or undefined if there is none. */
export function textOf(values: Values, name: string): string | undefined {
  const text = values[name]?.trim();
  return text === "" ? undefined : text;
}

/** Returns the typed whole number, or undefined if there is none. */
export function wholeOf(values: Values, name: string): number | undefined {
  const text = textOf(values, name);
  return text === undefined ? undefined : Number(text);
}

/** Whether the box is ticked. */
export function isTicked(values: Values, name: string): boolean {
  return values[name] === "yes";
}

/** What the fields share. */
interface FieldsProps {
  readonly fields: readonly Field[];
  readonly values: Values;
  readonly onType: (name: string, value: string) => void;
  /** The field at fault with what is wrong with it. */
  readonly fault?: { readonly name: string; readonly message: string } | undefined;
}

/** Shows fields below each other. */
export function Fields({ fields, values, onType, fault }: FieldsProps) {
  return fields.map((field) => (
    <FieldInput
      key={field.name}
      field={field}
      value={values[field.name] ?? ""}
      onType={(value) => onType(field.name, value)}
      fault={fault?.name === field.name ? fault.message : undefined}
    />
  ));
}

interface FieldInputProps {
  readonly field: Field;
  readonly value: string;
  readonly onType: (value: string) => void;
  readonly fault: string | undefined;
}

function FieldInput({ field, value, onType, fault }: FieldInputProps) {
  const { name, label, kind = "text", about, choices, isOptional = false, max } = field;
  // Another input of the form types it.
  if (kind === "hidden") return null;
  if (kind === "box") return <Box field={field} value={value} onType={onType} />;
  const shared = {
    name,
    label: isOptional ? `${label} (optional)` : label,
    description: about,
    error: fault,
    value,
    // One of the choices is always chosen, and may be none.
    required: !isOptional && choices === undefined,
    withAsterisk: false,
    onChange: (event: { readonly currentTarget: { readonly value: string } }) =>
      onType(event.currentTarget.value),
  };
  if (choices !== undefined)
    return (
      <NativeSelect
        {...shared}
        data={choices.map(([choice, words]) => ({ value: choice, label: words }))}
      />
    );
  const typed = { ...shared, maxLength: max ?? 255, autoComplete: "off", spellCheck: false };
  if (kind === "long") return <Textarea {...typed} rows={2} maxLength={max ?? 500} />;
  if (kind === "secret")
    return (
      <PasswordInput
        {...typed}
        autoComplete="new-password"
        maxLength={max ?? 1_000}
        visibilityToggleButtonProps={{ "aria-label": `Show ${label}` }}
      />
    );
  if (kind === "whole")
    return <TextInput {...typed} inputMode="numeric" pattern="[0-9]*" maxLength={10} />;
  return <TextInput {...typed} type={kind === "day" ? "date" : "text"} />;
}

function Box({ field, value, onType }: Omit<FieldInputProps, "fault">) {
  return (
    <label className={styles.box}>
      <input
        type="checkbox"
        name={field.name}
        checked={value === "yes"}
        onChange={(event) => onType(event.currentTarget.checked ? "yes" : "")}
      />
      <span>
        {field.label}
        {field.about && <span className={styles.about}>{field.about}</span>}
      </span>
    </label>
  );
}
