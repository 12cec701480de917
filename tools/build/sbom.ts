/**
 * The bill of materials of a build, as CycloneDX: the packages whose code is bundled, and those
 * that an installation adds from the lock file.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Contrib, Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";
import parseLicence from "spdx-expression-parse";

type PackageJson = Contrib.FromNodePackageJson.Types.NodePackageJson & {
  readonly name: string;
  readonly version: string;
};

const components = new Contrib.FromNodePackageJson.Builders.ComponentBuilder(
  new Contrib.FromNodePackageJson.Factories.ExternalReferenceFactory(),
  new Contrib.License.Factories.LicenseFactory(parseLicence),
);

/**
 * Returns the bill of materials as text, the same for the same packages. `bundled` are the folders
 * of packages whose code is in the build.
 */
export function billOfMaterials(root: string, bundled: readonly string[]): string {
  const bom = new Models.Bom();
  const { name, version } = readPackage(root, "");
  bom.metadata.component = new Models.Component(Enums.ComponentType.Application, name, { version });
  for (const folder of new Set([...bundled, ...installedFolders(root)]))
    bom.components.add(componentOf(readPackage(root, folder)));
  const normalizers = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
  return new Serialize.JsonSerializer(normalizers).serialize(bom, { sortLists: true, space: 2 });
}

function componentOf(described: PackageJson): Models.Component {
  const component = components.makeComponent(described, Enums.ComponentType.Library);
  if (component === undefined) throw new Error(`${described.name} cannot be described`);
  const { name, version } = described;
  component.purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  component.bomRef.value = component.purl;
  return component;
}

/** The packages that `npm ci --omit=dev` installs, of which a build loads some. */
export function installedFolders(root: string): readonly string[] {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
  const isInstalled = (folder: string) => {
    const { dev = false, link = false } = packages[folder] ?? {};
    return folder.startsWith("node_modules/") && !dev && !link;
  };
  return Object.keys(packages).filter(isInstalled);
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly link?: boolean }>>;
}

function readPackage(root: string, folder: string): PackageJson {
  return JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
}
