/** Which act is open. The address has it, so that the back button closes the drawer. */
import { type LinkProps, useNavigate, useSearch } from "@tanstack/react-router";

/** The act that the address names, with how another is opened and how it is closed. */
interface OpenAct {
  readonly act: string | undefined;
  readonly open: (act: string) => void;
  readonly close: () => void;
}

/** Returns what is open. The route of the page has to let `act` in. */
export function useOpenAct(): OpenAct {
  const search: { readonly act?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  const go = (act: string | undefined) =>
    void navigate({
      to: ".",
      search: { ...search, act } as LinkProps["search"],
      resetScroll: false,
      replace: act === undefined,
    });
  return { act: search.act, open: go, close: () => go(undefined) };
}
