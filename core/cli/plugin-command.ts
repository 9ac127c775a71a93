// A command that a plugin declares, as commander takes it.
import { Command, Option } from "commander"
import type { PluginCommand } from "../kernel/plugin.ts"
import type { CommandContext } from "./operations/commands.ts"
import { print } from "./terminal.ts"

export function addPluginCommand(
  program: Command,
  { name, group, summary, options = [], run }: PluginCommand,
  { terminal, exit }: CommandContext,
): void {
  const made = new Command(name).description(summary).copyInheritedSettings(program)
  for (const { flags, summary: says, mandatory } of options) made.addOption(new Option(flags, says).makeOptionMandatory(mandatory ?? false))
  made.action(async (given: Record<string, string | boolean | undefined>) => {
    const result = await run(given)
    print(terminal, typeof result === "string" ? result : result.text)
    if (typeof result !== "string") exit(result.exitCode)
  })
  parentOf(program, group).addCommand(made)
}

function parentOf(program: Command, group: string | undefined): Command {
  if (group === undefined) return program
  const existing = program.commands.find((command) => command.name() === group)
  if (existing) return existing
  const made = new Command(group).copyInheritedSettings(program)
  program.addCommand(made)
  return made
}
