// `millrace pipelines graph`: the compiled graph as text for the terminal or as Mermaid for documents.
import { type Command, Option } from "commander"
import { PipelineDocument } from "../../../pipeline/document.ts"
import { print } from "../../terminal.ts"
import type { CommandContext } from "../command-context.ts"
import { openCompiler } from "../compiler.ts"
import { readText, shownPath } from "../files.ts"
import { formatFindings } from "../finding-formats.ts"
import { placedIn } from "../validate.ts"
import { mermaid } from "./mermaid.ts"
import { graphText } from "./text.ts"

export function addGraph(group: Command, { config, root, terminal, end }: CommandContext): void {
  group
    .command("graph")
    .description("Show a pipeline's steps, and which run before and after the reply.")
    .argument("<file>", "the pipeline")
    .addOption(new Option("--format <format>", "how to show it").choices(["text", "mermaid"]).default("text"))
    .action(async (file: string, { format }: { format: "text" | "mermaid" }) => {
      const text = readText(file)
      const compiler = await openCompiler({ config: config(), root, env: terminal.env })
      try {
        const { compilation, document } = await compiler.compile(text)
        if (!compilation.ok) {
          const findings = compilation.findings.map((one) => placedIn(text, one))
          print(terminal, formatFindings([{ path: shownPath(file), ok: false, findings }], "text"))
          return end(1)
        }
        const { name } = PipelineDocument.parse(document)
        print(terminal, format === "mermaid" ? mermaid(compilation.graph) : graphText(name, compilation.graph))
      } finally {
        await compiler.stop()
      }
    })
}
