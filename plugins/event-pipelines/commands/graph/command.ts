// `millrace pipelines graph`: the compiled graph as text for the terminal or as Mermaid for documents.

import { openCompiler, print } from "#core/commands"
import { type CommandContext, PipelineDocument } from "#core/engine"
import { readText, shownPath } from "../files.ts"
import { formatFindings } from "../finding-formats.ts"
import { placedIn } from "../validate.ts"
import { mermaid } from "./mermaid.ts"
import { graphText } from "./text.ts"

export async function graph(
  { format }: { format: "text" | "mermaid" },
  { args: [file = ""], config, root, terminal, end }: CommandContext,
): Promise<undefined> {
  const text = readText(file)
  const compiler = await openCompiler({ config: config(), root, env: terminal.env })
  try {
    const { compilation, document } = await compiler.compile(text)
    if (!compilation.ok) {
      const findings = compilation.findings.map((one) => placedIn(text, one))
      print(terminal, formatFindings([{ path: shownPath(file), ok: false, findings }], "text"))
      return void end(1)
    }
    const { name } = PipelineDocument.parse(document)
    print(terminal, format === "mermaid" ? mermaid(compilation.graph) : graphText(name, compilation.graph))
  } finally {
    await compiler.stop()
  }
}
