/** The icons of the console: 24 by 24, drawn with a line of the text's colour. */

/** What each icon draws. */
const paths = {
  overview: "M4 20V10M10 20V4M16 20v-7M21 20H3",
  attention: "M12 4 3 19h18zM12 10v4M12 16.6v.2",
  activity: "M3 12h4l3-7 4 14 3-7h4",
  subscriptions:
    "M4 12a8 8 0 0 1 13.6-5.7L20 8.5M20 4v4.5h-4.5M20 12a8 8 0 0 1-13.6 5.7L4 15.5M4 20v-4.5h4.5",
  customers: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20a7.5 7.5 0 0 1 15 0",
  plans: "M4 19 9 14v-4h6V5h5",
  charges: "M4 8V4h4M20 12l-8 8-8.5-8.5V4h7.5z",
  meters: "M5.6 18.4a9 9 0 1 1 12.8 0M12 13l4-4",
  invoices: "M6 3h9l4 4v14H6zM14 3v5h5M9.5 12.5h6M9.5 16.5h6",
  credits: "M6 3h9l4 4v14H6zM14 3v5h5M9.5 14.5h6",
  usage: "M3 17l5-5 4 4 8-9M20 12V7h-5",
  calendar: "M4 6h16v14H4zM4 10.5h16M8.5 3v4M15.5 3v4",
  ledger: "M5 4h14v16H5zM9 4v16M12 9h4M12 13h4",
  webhooks: "M12 8.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM10.5 8 6 17M13.5 8l4.5 9M4 18.5h16",
  keys: "M14.5 9.5 4 20M7 17l2.5 2.5M10 14l2 2M16.5 12a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9z",
  organisation: "M4 20V5h9v15M13 10h7v10M3 20h18M7 9h3M7 13h3M16 14h1",
  operators: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 19a6 6 0 0 1 12 0M17 5v5M14.5 7.5h5",
  audit: "M5 4h14v16H5zM9 9h6M9 12.5h6M9 16h4",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16.2 16.2 21 21",
  menu: "M4 7h16M4 12h16M4 17h16",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  done: "M5 12.5 10 17.5 19.5 7",
  older: "M9 5l7 7-7 7",
  newer: "M15 5l-7 7 7 7",
  down: "M5 9l7 7 7-7",
  becomes: "M4 12h15M13 6l6 6-6 6",
  close: "M6 6l12 12M18 6 6 18",
  external: "M10 5H5v14h14v-5M14 4h6v6M20 4l-9 9",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 3v2M12 19v2M3 12h2M19 12h2",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  print: "M7 9V4h10v5M7 17H4V9h16v8h-3M7 14h10v6H7z",
} as const;

/** The name of an icon. */
export type IconName = keyof typeof paths;

/** An icon. It says nothing to a screen reader: the words beside it do. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.7}
      strokeLinecap="round"
      strokeLinejoin="round"
      style={{ flex: "none" }}
    >
      <path d={paths[name]} />
    </svg>
  );
}
