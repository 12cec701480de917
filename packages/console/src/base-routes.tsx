/** The addresses that have others below them, and those without an organisation. */
import { createRootRoute, createRoute, lazyRouteComponent, Outlet } from "@tanstack/react-router";
import { texts } from "./search-params.ts";
import { NotFound, NothingHere } from "./shell/not-found.tsx";
import { OrganisationLayout } from "./shell/organisation-layout.tsx";
import { SignedIn } from "./shell/signed-in.tsx";

/** Everything. */
export const root = createRootRoute({ component: Outlet, notFoundComponent: NothingHere });

/** The sign-in, for nobody. */
export const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: texts("return"),
  component: lazyRouteComponent(() => import("./pages/start/sign-in.tsx"), "SignInPage"),
});

/** What needs an operator. */
export const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  component: SignedIn,
});

/** The choice of an organisation. */
export const organisations = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  validateSearch: texts("name", "after"),
  component: lazyRouteComponent(
    () => import("./pages/start/organisations.tsx"),
    "OrganisationsPage",
  ),
});

/** What is of one organisation. */
export const organisation = createRoute({
  getParentRoute: () => signedIn,
  path: "/o/$organisation",
  component: OrganisationLayout,
  notFoundComponent: NotFound,
});

/** The options of a page of an organisation. */
export const inOrganisation = { getParentRoute: () => organisation } as const;
