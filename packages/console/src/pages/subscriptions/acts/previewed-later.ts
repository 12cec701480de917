/** The preview of an act on a subscription, whose code is loaded when there is one to show. */
import { lazy } from "react";

/** Shows the preview. */
export const Previewed = lazy(async () => ({
  default: (await import("./previewed.tsx")).Previewed,
}));
