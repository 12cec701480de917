/** The menu of the operator: the theme, the keys, and signing out. */
import { ActionIcon, Menu, useMantineColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useOperator } from "../data/operator.tsx";
import { signOut } from "../data/session.ts";
import { queryClient } from "../data/transport.ts";
import { Icon } from "../design/icons.tsx";
import { operatorRoles } from "../words/states.ts";
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
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <ActionIcon aria-label={`Menu of ${name}`} radius="xl">
          <Icon name="customers" size={20} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {name}, {operatorRoles[role]}
        </Menu.Label>
        {themes.map(({ value, label, icon }) => (
          <Menu.Item
            key={value}
            leftSection={<Icon name={icon} />}
            rightSection={colorScheme === value && <Icon name="done" size={14} />}
            aria-current={colorScheme === value ? "true" : undefined}
            onClick={() => setColorScheme(value)}
          >
            {label}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={openKeys}>Keys</Menu.Item>
        <Menu.Item onClick={() => void leave()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
