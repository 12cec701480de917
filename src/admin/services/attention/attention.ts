/** AttentionService: everything that waits for a person, in one queue. ADMIN-20 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  AttentionSchema,
  AttentionService,
} from "../../../gen/proto/billing/admin/v1/attention_pb.ts";
import { wordOf } from "../../../present/enums.ts";
import { type AttentionItem, attentionKinds } from "../../../store/admin/attention/attention.ts";
import { attentionKinds as kindValues } from "../../present/enums.ts";
import { membersOf } from "../../present/present.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  pageOf,
  requireOrganisation,
} from "../dependencies.ts";
import { attentionWords } from "./attention-words.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, and `invalid_parameter` for a
 * `starting_after` that is no id of the list.
 */
export function attentionService(
  deps: Pick<AdminDependencies, "store">,
): AdminImplementation<typeof AttentionService> {
  const { attention } = deps.store;
  const scopeOf = async (organisation: string | undefined) =>
    organisation === undefined ? null : (await requireOrganisation(deps, organisation)).id;
  return {
    listAttention: async (request) => {
      const organisationId = await scopeOf(request.organisation);
      const checked = new Date().toISOString();
      const { severity } = request;
      const wanted = wordOf(kindValues, request.kind);
      const kinds = attentionKinds.filter(
        (kind) =>
          (wanted === null || kind === wanted) &&
          (severity === undefined || attentionWords[kind].severity === severity),
      );
      const { data, hasMore } = await attention.list(organisationId, kinds, pageOf(request));
      return { data: data.map(presentItem), hasMore, checked };
    },
    countAttention: async ({ organisation }) => {
      const organisationId = await scopeOf(organisation);
      const checked = new Date().toISOString();
      const counts = await attention.count(organisationId);
      return {
        counts: counts.map(({ kind, count }) => ({
          kind: kindValues[kind],
          severity: attentionWords[kind].severity,
          count,
        })),
        checked,
      };
    },
  };
}

function presentItem(item: AttentionItem): MessageInitShape<typeof AttentionSchema> {
  const { severity, message, acts } = attentionWords[item.kind];
  const { organisationId: organisation } = item;
  return {
    ...membersOf(item),
    organisation,
    kind: kindValues[item.kind],
    severity,
    message: message(item),
    sameReasonCount: item.sameCount,
    acts: acts(item).map(({ method, summary, arguments: more }) => ({
      method: `${method.parent.typeName}/${method.name}`,
      summary,
      arguments: Object.entries({ organisation, ...more }).map(([name, value]) => ({
        name,
        value,
      })),
    })),
  };
}
