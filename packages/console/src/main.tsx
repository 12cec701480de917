/** The entry of the console. */
import "@fontsource-variable/inter/index.css";
import "./design/mantine.css";
import "./design/tokens.css";
import "./design/base.css";
import { TransportProvider } from "@connectrpc/connect-query";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient, transport } from "./data/transport.ts";
import { theme, variables } from "./design/theme.ts";
import { router } from "./router.tsx";
import { Announcer } from "./shell/announcer.tsx";

// The policy of the page lets a style in only with it.
const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? "";
setNonce(nonce);

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no root");
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <TransportProvider transport={transport}>
        <QueryClientProvider client={queryClient}>
          <Announcer />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </TransportProvider>
    </MantineProvider>
  </StrictMode>,
);
