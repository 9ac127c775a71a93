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
    .action((asked: { profile?: string; organization?: string }) =>
      told({ context }, async () => {
        const { serveMcp } = await import("./mcp.ts")
        await serveMcp(targetOf(context.terminal.env, { ...asked, own: await context.own?.() }), context.terminal)
      }),
    )
}
