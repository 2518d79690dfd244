import { type Command, type Option, allOptions } from "./command.js";

export const shells = ["bash", "zsh", "fish"] as const;

/** A script that teaches a shell the table of commands. */
export function completionScript(shell: (typeof shells)[number], commands: readonly Command[]): string {
  return { bash, zsh, fish }[shell](commands).trimEnd();
}

/** What may follow a command: words, options, and whether a file's name fits. */
interface Place {
  readonly command: string;
  readonly words: readonly { readonly word: string; readonly help: string }[];
  readonly options: readonly (readonly [name: string, option: Option])[];
  readonly takesFile: boolean;
}

function places(commands: readonly Command[]): Place[] {
  const top: Place = {
    command: "",
    words: below("", commands),
    options: [
      ["help", { help: "list the commands" }],
      ["version", { help: "print the version" }],
    ],
    takesFile: false,
  };
  return [
    top,
    ...commands.map((command) => ({
      command: command.name,
      words: [
        ...below(`${command.name} `, commands),
        ...command.arguments.flatMap(({ choices }) => choices ?? []).map((word) => ({ word, help: "" })),
      ],
      options: Object.entries(allOptions(command)),
      takesFile: command.arguments.some(({ isFile }) => isFile),
    })),
  ];
}

function below(prefix: string, commands: readonly Command[]): { word: string; help: string }[] {
  return commands
    .filter(({ name }) => name.startsWith(prefix) && !name.slice(prefix.length).includes(" "))
    .map(({ name, summary }) => ({ word: name.slice(prefix.length), help: summary }));
}

const path = (names: readonly string[]): string => names.map((name) => `"${name}"`).join("|");
/** Finding the command is the same in bash and zsh: words that name one lead to it, anything else stays. */
const walk = (commands: readonly Command[]): string =>
  `case "$at\${at:+ }$word" in ${path(commands.map(({ name }) => name))}) at="$at\${at:+ }$word";; esac`;

function bash(commands: readonly Command[]): string {
  return `# Completion of millrace for bash: source <(millrace completion bash)
_millrace() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" at="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    ${walk(commands)}
  done
  case "$at:$previous" in
${places(commands)
  .flatMap(({ command, options }) =>
    options.filter(([, { value }]) => value !== undefined).map(([name, option]) => [command, name, option] as const),
  )
  .map(([command, name, { choices, isFile }]) => {
    const reply = choices
      ? `COMPREPLY=($(compgen -W "${choices.join(" ")}" -- "$current"))`
      : isFile
        ? 'COMPREPLY=($(compgen -f -- "$current"))'
        : "COMPREPLY=()";
    return `    "${command}:--${name}") ${reply}; return;;`;
  })
  .join("\n")}
  esac
  local words="" files=""
  case "$at" in
${places(commands)
  .map(({ command, words, options, takesFile }) => {
    const all = [...words.map(({ word }) => word), ...options.map(([name]) => `--${name}`)].join(" ");
    return `    "${command}") words="${all}"${takesFile ? "; files=yes" : ""};;`;
  })
  .join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ -n $files && $current != -* ]]; then COMPREPLY+=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _millrace millrace
`;
}

const zshText = (text: string): string => text.replaceAll(/[`'"\\[\]:$]/g, " ");

function zsh(commands: readonly Command[]): string {
  return `#compdef millrace
# Completion of millrace for zsh: millrace completion zsh > "\${fpath[1]}/_millrace"
_millrace() {
  local at="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    ${walk(commands)}
  done
  case "$at:$words[CURRENT-1]" in
${places(commands)
  .flatMap(({ command, options }) =>
    options.filter(([, { value }]) => value !== undefined).map(([name, option]) => [command, name, option] as const),
  )
  .map(
    ([command, name, { choices, isFile, value }]) =>
      `    "${command}:--${name}") ${choices ? `compadd -- ${choices.join(" ")}` : isFile ? "_files" : `_message "${zshText(value!)}"`}; return;;`,
  )
  .join("\n")}
  esac
  local -a known flags
  case "$at" in
${places(commands)
  .map(({ command, words, options, takesFile }) => {
    const known = words.map(({ word, help }) => `'${word}${help ? `:${zshText(help)}` : ""}'`).join(" ");
    const flags = options.map(([name, { help }]) => `'--${name}:${zshText(help)}'`).join(" ");
    return `    "${command}") known=(${known}); flags=(${flags})${takesFile ? "; [[ $words[CURRENT] == -* ]] || _files" : ""};;`;
  })
  .join("\n")}
  esac
  if (( $#known )); then _describe 'command' known; fi
  if [[ $words[CURRENT] == -* || $#known -eq 0 ]]; then _describe -o 'option' flags; fi
}
if [[ $funcstack[1] == _millrace ]]; then _millrace "$@"; else compdef _millrace millrace; fi
`;
}

const fishText = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

function fish(commands: readonly Command[]): string {
  const lines = places(commands).flatMap(({ command, words, options, takesFile }) => {
    const here = `-n '__millrace_at "${command}"'`;
    return [
      ...words.map(({ word, help }) => `complete -c millrace ${here} -a ${word}${help ? ` -d ${fishText(help)}` : ""}`),
      ...options.map(([name, { value, choices, isFile, help, short }]) => {
        const takes = value === undefined ? "" : isFile ? " -r -F" : choices ? ` -x -a '${choices.join(" ")}'` : " -x";
        return `complete -c millrace ${here} -l ${name}${short ? ` -s ${short}` : ""}${takes} -d ${fishText(help)}`;
      }),
      ...(takesFile ? [`complete -c millrace ${here} -F`] : []),
    ];
  });
  return `# Completion of millrace for fish: millrace completion fish > ~/.config/fish/completions/millrace.fish
function __millrace_at
  set -l at ""
  for word in (commandline -opc)[2..-1]
    set -l longer (string trim -- "$at $word")
    if contains -- "$longer" ${commands.map(({ name }) => `"${name}"`).join(" ")}
      set at "$longer"
    end
  end
  test "$at" = "$argv[1]"
end
complete -c millrace -f
${lines.join("\n")}
`;
}
