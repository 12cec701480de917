/** The preview of an act on a subscription, whose code is loaded when there is one to show. */
import { later } from "../../../design/later.tsx";
import { Skeleton } from "../../../design/page/page.tsx";

/** Shows the preview. */
export const Previewed = later(
  async () => (await import("./previewed.tsx")).Previewed,
  <Skeleton lines={5} />,
);
