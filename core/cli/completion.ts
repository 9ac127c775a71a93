// `millrace completion <shell>`: a script with all commands and flags. Completion starts no process.
import type { Command } from "commander"
import { CommandProblem } from "../kernel/command.ts"

interface CompletionContext {
  /** Words of the path: `datasets list-rows`. */
  readonly path: string
  readonly commands: readonly { readonly name: string; readonly summary: string }[]
  readonly flags: readonly {
    readonly name: string
    readonly summary: string
    readonly choices: readonly string[]
    readonly takesValue: boolean
  }[]
}

const shells = { bash, zsh, fish } as const

export function completionScript(shell: string, program: Command): string {
  const write = Object.hasOwn(shells, shell) ? shells[shell as keyof typeof shells] : undefined
  if (!write) throw new CommandProblem(`Completion for "${shell}" is not supported; supported are ${Object.keys(shells).join(", ")}.`)
  return write(placesOf(program, ""))
}

function placesOf(command: Command, path: string): CompletionContext[] {
  const below = command.commands.map((one) => ({ name: one.name(), summary: firstLine(one.summary() || one.description()) }))
  const flags = [...command.options.filter(({ hidden }) => !hidden), command.createOption("--help", "display help")].map((option) => ({
    name: option.long ?? option.flags,
    summary: firstLine(option.description),
    choices: option.argChoices ?? [],
    takesValue: option.required,
  }))
  return [{ path, commands: below, flags }, ...command.commands.flatMap((one) => placesOf(one, `${path} ${one.name()}`.trim()))]
}

/** Deepest first, so the longest path matches. */
function deepestFirst(places: readonly CompletionContext[]): CompletionContext[] {
  const depth = ({ path }: CompletionContext) => path.split(" ").filter(Boolean).length
  return [...places].sort((left, right) => depth(right) - depth(left))
}

function bash(places: readonly CompletionContext[]): string {
  return `# millrace completion for bash: eval "$(millrace completion bash)", or a file in ~/.local/share/bash-completion/completions/millrace
_millrace() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" at="" word words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ "$word" == -* ]] || at="$at $word"
  done
  at="\${at# }"
${casesOf(places, "  ", "words")}
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _millrace millrace
`
}

function zsh(places: readonly CompletionContext[]): string {
  return `#compdef millrace
# millrace completion for zsh: source <(millrace completion zsh), or a file _millrace in a folder of $fpath
_millrace() {
  local previous="\${words[CURRENT-1]}" at="" word found=""
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ "$word" == -* ]] || at="$at $word"
  done
  at="\${at# }"
${casesOf(places, "  ", "found")}
  compadd -- \${=found}
  [[ -n "$found" ]] || _files
}
compdef _millrace millrace
`
}

/** Returns the possible words by command path and previous word, in syntax shared by bash and zsh. */
function casesOf(places: readonly CompletionContext[], indent: string, variable: string): string {
  const cases = deepestFirst(places).map(({ path, commands, flags }) => {
    const pattern = path === "" ? "*" : `"${path}"|"${path} "*`
    const values = flags
      .filter(({ takesValue }) => takesValue)
      .map(({ name, choices }) => `      ${name}) ${variable}="${choices.join(" ")}" ;;`)
    const words = [...commands.map(({ name }) => name), ...flags.map(({ name }) => name)].join(" ")
    return [`  ${pattern}) case "$previous" in`, ...values, `      *) ${variable}="${words}" ;;`, "    esac ;;"]
      .map((line) => indent + line)
      .join("\n")
  })
  return [`${indent}case "$at" in`, ...cases, `${indent}esac`].join("\n")
}

function fish(places: readonly CompletionContext[]): string {
  const lines = places.flatMap(({ path, commands, flags }) => [
    ...commands.map(({ name, summary }) => `complete -c millrace -f -n '__millrace_at "${path}"' -a '${name}' -d '${quoted(summary)}'`),
    ...flags.map(({ name, summary, choices, takesValue }) => {
      const value = takesValue ? (choices.length > 0 ? ` -x -a '${choices.join(" ")}'` : " -r") : ""
      return `complete -c millrace -n '__millrace_at "${path}"' -l '${name.replace(/^--/, "")}' -d '${quoted(summary)}'${value}`
    }),
  ])
  return `# millrace completion for fish: millrace completion fish > ~/.config/fish/completions/millrace.fish
function __millrace_at
  set -l at
  for word in (commandline -opc)[2..]
    string match -q -- '-*' $word; or set -a at $word
  end
  test "$at[1..2]" = "$argv[1]"
end
${lines.join("\n")}
`
}

function quoted(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")
}

function firstLine(text: string): string {
  return text.split("\n")[0] ?? ""
}
