/**
 * Builds the page into `dist/console`. In development a server proxies the admin API, with the
 * token of `CONSOLE_TOKEN`, to `CONSOLE_ADMIN_URL`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const root = import.meta.dirname;
const { CONSOLE_TOKEN, CONSOLE_ADMIN_URL = "http://127.0.0.1:8081", CONSOLE_OUT } = process.env;
const { version } = JSON.parse(readFileSync(join(root, "../../package.json"), "utf8"));

export default defineConfig({
  root,
  base: "/console/",
  define: { __VERSION__: JSON.stringify(version) },
  plugins: [react()],
  // Its words are the server's own: nothing but what the page imports is in it.
  publicDir: false,
  clearScreen: false,
  server: {
    host: "127.0.0.1",
    proxy: {
      "^/(billing\\.admin\\.v1\\.|console/session)": {
        target: CONSOLE_ADMIN_URL,
        changeOrigin: true,
        ...(CONSOLE_TOKEN && { headers: { Authorization: `Bearer ${CONSOLE_TOKEN}` } }),
      },
    },
  },
  build: {
    outDir: CONSOLE_OUT ?? join(root, "../../dist/console"),
    emptyOutDir: true,
    target: "es2023",
    // The page's policy allows no inline script and no data in place of files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_000,
    manifest: "manifest.json",
    rolldownOptions: {
      output: {
        // What every page needs is one file: its parts together are smaller over the wire.
        codeSplitting: { groups: [{ name: "shell", tags: ["$initial"] }] },
      },
    },
  },
});
