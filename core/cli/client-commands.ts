// Commands of API clients, beside the operations: keys, shell completion, MCP.
import type { Command } from "commander"
import { completionScript } from "./completion.ts"
import { addLoginCommands } from "./login.ts"
import { type CommandContext, told } from "./operations/commands.ts"
import { targetOf } from "./profiles.ts"

export function addClientCommands(program: Command, context: CommandContext, addDeclared: () => Promise<void>): void {
  addLoginCommands(program, context)
  program
    .command("completion")
    .description("Print the completion script of a shell: bash, zsh or fish.")
    .argument("<shell>", "bash, zsh or fish")
    .action((shell: string) =>
      told({ context }, async () => {
        await addDeclared()
        context.terminal.stdout.write(completionScript(shell, program))
      }),
    )
  program
    .command("mcp")
    .description("Serve the service's MCP tools over standard input and output, with the key of a profile.")
    .option("--profile <name>", "of `millrace login`")
    .option("--organization <slug>", "act in this organization")
    .option("--tools <toolsets>", "offer these toolsets, such as `pipelines,datasets`")
    .option("--read-only", "offer only tools that change nothing")
    .action((asked: { profile?: string; organization?: string; tools?: string; readOnly?: true }) =>
      told({ context }, async () => {
        const { serveMcp } = await import("./mcp.ts")
        const target = targetOf(context.terminal.env, { ...asked, own: await context.own?.() })
        await serveMcp({ ...target, tools: asked.tools, readOnly: asked.readOnly === true }, context.terminal)
      }),
    )
}
