/** `npm run dashboards`: writes deploy/grafana/dashboards. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { dashboardText } from "./dashboard-json.ts";
import { dashboards } from "./dashboards.ts";

const folder = join(import.meta.dirname, "../../deploy/grafana/dashboards");
for (const dashboard of dashboards)
  writeFileSync(join(folder, `${dashboard.uid}.json`), dashboardText(dashboard));
