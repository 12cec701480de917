/** Mantine's theme and its variables, from the tokens. */
import { type CSSVariablesResolver, createTheme, type VariantColorsResolver } from "@mantine/core";

/** The colours of a button or of an icon that acts: the accent, or red for what removes. */
const variantColors: VariantColorsResolver = ({ variant, color }) => {
  const tone = color === "bad" ? "bad" : "accent";
  const plain = { border: "1px solid transparent", background: "transparent" };
  if (variant === "filled")
    return {
      ...plain,
      background: `var(--${tone})`,
      hover: `var(--${tone}-hover)`,
      color: tone === "bad" ? "var(--surface)" : "var(--on-accent)",
    };
  if (variant === "default")
    return {
      background: "var(--surface)",
      border: "1px solid var(--border)",
      hover: "var(--subtle)",
      color: tone === "bad" ? "var(--bad)" : "var(--text)",
    };
  return {
    ...plain,
    hover: "var(--subtle)",
    color: color === "bad" ? "var(--bad)" : "var(--text)",
  };
};

/** The theme of all Mantine components. */
export const theme = createTheme({
  fontFamily: "var(--sans)",
  fontFamilyMonospace: "var(--mono)",
  headings: { fontFamily: "var(--sans)" },
  defaultRadius: "var(--radius)",
  cursorType: "pointer",
  respectReducedMotion: true,
  variantColorResolver: variantColors,
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem" },
  components: {
    Button: { defaultProps: { size: "sm" }, styles: { label: { fontWeight: 500 } } },
    ActionIcon: { defaultProps: { variant: "subtle", size: "lg" } },
    Modal: {
      defaultProps: { closeButtonProps: { "aria-label": "Close" }, radius: "var(--radius)" },
    },
    Drawer: { defaultProps: { closeButtonProps: { "aria-label": "Close" } } },
  },
});

/** Points Mantine's variables at the tokens, which know light and dark themselves. */
export const variables: CSSVariablesResolver = () => ({
  variables: {
    "--mantine-color-body": "var(--surface)",
    "--mantine-color-text": "var(--text)",
    "--mantine-color-bright": "var(--text)",
    "--mantine-color-dimmed": "var(--muted)",
    "--mantine-color-placeholder": "var(--muted)",
    "--mantine-color-anchor": "var(--accent)",
    "--mantine-color-error": "var(--bad)",
    "--mantine-color-default": "var(--surface)",
    "--mantine-color-default-hover": "var(--subtle)",
    "--mantine-color-default-color": "var(--text)",
    "--mantine-color-default-border": "var(--control-border)",
    "--mantine-primary-color-filled": "var(--accent)",
    "--mantine-primary-color-filled-hover": "var(--accent-hover)",
    "--mantine-primary-color-contrast": "var(--on-accent)",
    "--mantine-primary-color-light-color": "var(--accent)",
    // The greys that components name by number.
    "--mantine-color-white": "var(--surface)",
    "--mantine-color-gray-0": "var(--subtle)",
    "--mantine-color-gray-1": "var(--subtle)",
    "--mantine-color-gray-2": "var(--border)",
    "--mantine-color-gray-3": "var(--border)",
    "--mantine-color-gray-4": "var(--control-border)",
    "--mantine-color-gray-5": "var(--muted)",
    "--mantine-color-gray-6": "var(--muted)",
    "--mantine-color-dark-2": "var(--muted)",
    "--mantine-color-dark-3": "var(--muted)",
    "--mantine-color-dark-4": "var(--control-border)",
    "--mantine-color-dark-5": "var(--subtle)",
    "--mantine-color-dark-6": "var(--surface)",
    "--mantine-color-dark-7": "var(--bg)",
  },
  light: {},
  dark: {},
});
