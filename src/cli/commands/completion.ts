import type { Command } from "../command.js";
import { completionScript, shells } from "../completion.js";

export const completionCommand: Command = {
  name: "completion",
  summary: "print a script that completes commands and options in your shell",
  arguments: [{ name: "SHELL", help: "bash, zsh or fish", choices: shells }],
  options: {},
  examples: [
    "source <(millrace completion bash)                                  # in ~/.bashrc",
    'millrace completion zsh > "${fpath[1]}/_millrace"',
    "millrace completion fish > ~/.config/fish/completions/millrace.fish",
  ],
  async run({ args, out, commands }) {
    const shell = args[0] as (typeof shells)[number];
    const script = completionScript(shell, commands);
    out.result({ shell, script }, script);
    return 0;
  },
};
