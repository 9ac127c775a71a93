// Converts a plugin's declared command to a commander command.
import { Command, Option } from "commander"
import type { CommandContext, CommandOption, PluginCommand } from "../kernel/command.ts"
import { print } from "../kernel/terminal.ts"

export function addPluginCommand(program: Command, declared: PluginCommand, context: Omit<CommandContext, "args">): void {
  const { name, group, summary, arguments: positional = [], options = [] } = declared
  const parent = parentOf(program, group)
  if (parent.commands.some((command) => command.name() === name)) return
  const made = new Command(name).description(summary).copyInheritedSettings(program)
  for (const one of positional) made.argument(one.name, one.summary)
  for (const option of options) made.addOption(optionOf(option))
  made.action(async (...given: unknown[]) => {
    const args = given
      .slice(0, positional.length)
      .flat()
      .filter((one) => one !== undefined) as string[]
    const result = await declared.run(given[positional.length], { ...context, args })
    if (result === undefined) return
    print(context.terminal, typeof result === "string" ? result : result.text)
    if (typeof result !== "string") context.end(result.exitCode)
  })
  parent.addCommand(made)
}

function optionOf({ flags, summary, mandatory = false, choices, default: value }: CommandOption): Option {
  const option = new Option(flags, summary).makeOptionMandatory(mandatory)
  if (choices) option.choices(choices)
  return value === undefined ? option : option.default(value)
}

function parentOf(program: Command, group: PluginCommand["group"]): Command {
  if (group === undefined) return program
  const { name, summary } = typeof group === "string" ? { name: group, summary: "" } : group
  const existing = program.commands.find((command) => command.name() === name)
  const made = existing ?? new Command(name).copyInheritedSettings(program).showSuggestionAfterError()
  if (summary !== "") made.description(summary)
  if (!existing) program.addCommand(made)
  return made
}
