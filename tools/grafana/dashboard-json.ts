/** Writes a dashboard as the JSON that Grafana loads: two panels in a row, each with a legend. */
import type { DashboardOf, PanelOf } from "./dashboards.ts";

const datasource = { type: "prometheus", uid: "prometheus" };

/** A panel takes half of Grafana's 24 columns. */
const [width, height] = [12, 8];

/** Returns the file's text. */
export function dashboardText({ uid, question, panels }: DashboardOf): string {
  const dashboard = {
    uid,
    title: question,
    tags: ["billing"],
    schemaVersion: 39,
    version: 1,
    editable: false,
    timezone: "browser",
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    panels: panels.map(panelOf),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function panelOf({ title, description, unit, queries }: PanelOf, index: number): object {
  return {
    id: index + 1,
    type: "timeseries",
    title,
    description,
    datasource,
    gridPos: { x: (index % 2) * width, y: Math.floor(index / 2) * height, w: width, h: height },
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        custom: { lineWidth: 2, fillOpacity: 10, showPoints: "never" },
      },
      overrides: [],
    },
    options: {
      legend: { displayMode: "list", placement: "bottom", showLegend: true },
      tooltip: { mode: "multi", sort: "desc" },
    },
    targets: queries.map(({ expr, legend }, place) => ({
      refId: String.fromCharCode(65 + place),
      datasource,
      expr,
      legendFormat: legend,
    })),
  };
}
