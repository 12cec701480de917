/** A catalogue as a file: charges, meters and plans, each by its code. YAML or JSON. */
import { type DescField, type DescMessage, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { parse, YAMLParseError } from "yaml";
import {
  ChargeService,
  PlanService,
} from "../../../../../src/gen/proto/billing/admin/v1/catalogue_pb.ts";
import { MeterService } from "../../../../../src/gen/proto/billing/admin/v1/meters_pb.ts";
import { jsonName } from "../../../../../src/transport/rest/json-shape.ts";
import { UsageError } from "../../failures.ts";
import { isObject, type Json } from "../../output/message-json.ts";

/** A kind of the catalogue's objects, with its methods. Plans come last: they name meters. */
export const kinds = [
  {
    name: "charge",
    list: ChargeService.method.listCharges,
    create: ChargeService.method.createCharge,
    update: ChargeService.method.updateCharge,
    setStatus: ChargeService.method.setChargeStatus,
    initial: "draft",
  },
  {
    name: "meter",
    list: MeterService.method.listMeters,
    create: MeterService.method.createMeter,
    update: MeterService.method.updateMeter,
    setStatus: MeterService.method.setMeterStatus,
    initial: "active",
  },
  {
    name: "plan",
    list: PlanService.method.listPlans,
    create: PlanService.method.createPlan,
    update: PlanService.method.updatePlan,
    setStatus: PlanService.method.setPlanStatus,
    initial: "draft",
  },
] as const;

/** A kind. */
export type Kind = (typeof kinds)[number];

/** An object of the file: its members as a creation takes them, and its status if it names one. */
export interface Wanted {
  readonly kind: Kind;
  readonly code: string;
  readonly members: Json;
  readonly status: string | null;
}

/**
 * Reads the objects of a file. Throws `UsageError` for what is no catalogue. Numbers stay the texts
 * that they are in the file, so that a price is exact.
 */
export function readCatalogue(path: string, text: string): readonly Wanted[] {
  const file = parsed(path, text);
  const sections = kinds.map(({ name }) => `${name}s`);
  const unknown = Object.keys(file).find((name) => !sections.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`${path}: ${unknown} is none of ${sections.join(", ")}`);
  return kinds.flatMap((kind) => {
    const { [`${kind.name}s`]: list = [] } = file;
    if (!Array.isArray(list)) throw new UsageError(`${path}: ${kind.name}s must be a list`);
    const wanted = list.map((one, index) => readObject(`${kind.name}s.${index}`, kind, one));
    const twice = wanted.find(({ code }, at) => wanted.findIndex((one) => one.code === code) < at);
    if (twice !== undefined) throw new UsageError(`${path}: ${kind.name} ${twice.code} is twice`);
    return wanted;
  });
}

function parsed(path: string, text: string): Json {
  let value: JsonValue;
  try {
    // The schema with texts alone. The contract says which of them are numbers.
    value = parse(text, { schema: "failsafe" });
  } catch (error) {
    if (!(error instanceof YAMLParseError)) throw error;
    throw new UsageError(`${path} is not YAML: ${error.message}`);
  }
  if (!isObject(value)) throw new UsageError(`${path} must have charges, meters or plans`);
  return value;
}

function readObject(path: string, kind: Kind, value: JsonValue): Wanted {
  if (!isObject(value) || typeof value.code !== "string")
    throw new UsageError(`${path} must have a code`);
  const { status, ...members } = value;
  const schema = kind.create.input;
  const typed = Object.entries(members).map(([name, member]): [string, JsonValue] => {
    const field = name === "organisation" ? undefined : fieldOf(schema, name);
    if (field === undefined) throw new UsageError(`${path}: ${name} is not a member`);
    return [name, typedMember(`${path}.${name}`, field, member)];
  });
  return {
    kind,
    code: value.code,
    members: Object.fromEntries(typed),
    status: status === undefined ? null : String(status),
  };
}

function fieldOf(schema: DescMessage, name: string): DescField | undefined {
  return schema.fields.find((field) => jsonName(field) === name);
}

function typedMember(path: string, field: DescField, value: JsonValue): JsonValue {
  if (field.fieldKind === "list") {
    if (!Array.isArray(value)) throw new UsageError(`${path} must be a list`);
    return value.map((one, index) => typedValue(`${path}.${index}`, field, one));
  }
  return typedValue(path, field, value);
}

function typedValue(path: string, field: DescField, value: JsonValue): JsonValue {
  const { message } = field;
  if (message !== undefined && isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => {
        const inner = fieldOf(message, name);
        if (inner === undefined) throw new UsageError(`${path}: ${name} is not a member`);
        return [name, typedMember(`${path}.${name}`, inner, member)];
      }),
    );
  if (typeof value !== "string") throw new UsageError(`${path} must be a text or a number`);
  if (field.scalar === ScalarType.INT32 && /^-?\d{1,10}$/.test(value)) return Number(value);
  if (field.scalar === ScalarType.BOOL && /^(true|false)$/.test(value)) return value === "true";
  return value;
}
