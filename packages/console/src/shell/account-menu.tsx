/** The menu of the operator: the theme, the keys, and signing out. */
import { useMantineColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useOperator } from "../data/operator.tsx";
import { signOut } from "../data/session.ts";
import { queryClient } from "../data/transport.ts";
import { Icon } from "../design/icons.tsx";
import { Dropdown } from "../design/page/dropdown.tsx";
import { operatorRoles } from "../words/states.ts";
import styles from "./frame.module.css";
import { openKeys } from "./shortcuts.tsx";

const themes = [
  { value: "light", label: "Light", icon: "sun" },
  { value: "dark", label: "Dark", icon: "moon" },
  { value: "auto", label: "As the system", icon: "system" },
] as const;

/** Who is signed in, and what is set for this browser. */
export function AccountMenu() {
  const { name, role } = useOperator();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const navigate = useNavigate();
  const leave = async () => {
    await signOut();
    queryClient.clear();
    await navigate({ to: "/sign-in" });
  };
  return (
    <Dropdown
      isAtEnd
      name={`Menu of ${name}`}
      className={styles.account}
      button={<Icon name="customers" size={20} />}
    >
      {(close) => (
        <>
          <p className="muted">
            {name}, {operatorRoles[role]}
          </p>
          <ul className={styles.settings}>
            {themes.map(({ value, label, icon }) => (
              <li key={value}>
                <button
                  type="button"
                  aria-pressed={colorScheme === value}
                  onClick={() => setColorScheme(value)}
                >
                  <Icon name={icon} /> {label}
                  {colorScheme === value && <Icon name="done" size={14} />}
                </button>
              </li>
            ))}
          </ul>
          <ul className={styles.settings}>
            <li>
              <button
                type="button"
                onClick={() => {
                  close();
                  openKeys();
                }}
              >
                Keyboard shortcuts
              </button>
            </li>
            <li>
              <button type="button" onClick={() => void leave()}>
                Sign out
              </button>
            </li>
          </ul>
        </>
      )}
    </Dropdown>
  );
}
