/** The fixtures of tests of the admin API: an owner's calls, and an organisation. */
import type { CreatedOrganisation } from "../../../packages/dev/src/demo/first-data.ts";
import { perFile } from "../../support/file-fixture.ts";
import { reusedSystemTest, systemTest } from "../../support/fixtures.ts";
import type { TestSystem } from "../../support/system.ts";
import { askWith } from "./request.ts";

interface OnSystem {
  readonly system: TestSystem;
}

/** The calls of an owner, Olga. */
const adminOf = async ({ system }: OnSystem) =>
  askWith(system, await system.operator("owner", "Olga"));
const organisationOf = ({ system }: OnSystem) => system.organisation();
/** The organisation as most calls name it. */
const ownOf = ({ made }: { readonly made: CreatedOrganisation }) => ({
  organisation: made.organisationId,
});

/** Calls to the reused system. */
export const adminTest = reusedSystemTest
  .extend("admin", perFile, adminOf)
  .extend("made", perFile, organisationOf)
  .extend("own", perFile, ownOf);

/** Calls to a new system. */
export const aloneAdminTest = systemTest
  .extend("admin", perFile, adminOf)
  .extend("made", perFile, organisationOf)
  .extend("own", perFile, ownOf);
