/**
 * The command `completion` writes the completion script of a shell. The script also defines the
 * program there as `billing`.
 */
import { Argument, type Command } from "commander";
import { commandLineFile } from "../../../../src/assets.ts";
import type { Terminal } from "../terminal.ts";
import { bashScript } from "./bash.ts";
import { commandTree, quoted } from "./command-tree.ts";
import { zshScript } from "./zsh.ts";

/** The name of the command. It needs all other commands. */
export const completionName = "completion";

const scripts = { bash: bashScript, zsh: zshScript } as const;

const examples = `
Examples:
  $ source <(npm run --silent billing -- completion bash)
  $ npm run --silent billing -- completion zsh > ~/.billing.zsh
  $ echo 'source ~/.billing.zsh' >> ~/.zshrc
`;

/** Adds the command. Call it after all other commands are added. */
export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command(completionName)
    .description(
      "Write the completion script of a shell. It also defines this program there as billing.",
    )
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(scripts)))
    .addHelpText("after", examples)
    .action((shell: keyof typeof scripts) => {
      // The program is in no folder of the PATH. Started directly by node it is also faster than by
      // npm.
      const run = `${quoted(process.execPath)} ${quoted(commandLineFile())}`;
      terminal.out(scripts[shell](commandTree(program), run));
    });
}
