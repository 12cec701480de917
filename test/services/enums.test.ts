/** The words of enums: each is the word of the enum's value in JSON over REST, without exception. */
import { type DescEnum, nestedTypes } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import * as adminEnums from "../../src/admin/present/enums.ts";
import { PlanType } from "../../src/gen/proto/billing/v1/catalogue_pb.ts";
import * as enums from "../../src/services/enums.ts";
import { enumJsonName } from "../../src/transport/rest/json-shape.ts";
import { contractFiles } from "../contract/methods.ts";

type Table = Readonly<Record<string, number>>;

const descriptors = contractFiles.flatMap((file) =>
  [...nestedTypes(file)].filter((type): type is DescEnum => type.kind === "enum"),
);
const tables = Object.entries({ ...enums, ...adminEnums }).filter(
  (entry): entry is [string, Table] => typeof entry[1] === "object",
);
