// `millrace pipelines run`: one event through a document and the real engine, each stage shown; nothing is sent anywhere.
import { dirname, resolve } from "node:path"
import type { Command } from "commander"
import { Desk, type SentEvent } from "../../../house/desk.ts"
import { Workbench } from "../../../house/workbench.ts"
import { BootError } from "../../../kernel/config.ts"
import type { PipelineDocument } from "../../../pipeline/document.ts"
import type { CommandContext } from "../command-context.ts"
import { openCompiler } from "../compiler.ts"
import { formatFindings } from "../finding-formats.ts"
import { addRemoteOptions, openRemote, type RemoteOptions, slugOfDocument } from "../remote.ts"
import { requestOf } from "../test/event-request.ts"
import { readPipeline } from "../test/read-test-file.ts"
import { readEventFile } from "./event-file.ts"
import { storyOf } from "./story.ts"

interface RunOptions extends RemoteOptions {
  readonly event?: string
  readonly fromExecution?: string
  readonly clock?: string
  readonly json?: boolean
}

interface Taken {
  readonly sent: SentEvent
  /** RFC 3339; undefined: now. */
  readonly at: string | undefined
}

export function addRun(group: Command, { config, root, end }: CommandContext): void {
  const command = group
    .command("run")
    .description("Put one event through a pipeline file and show each stage; needs no service and sends nothing.")
    .argument("<file>", "the pipeline")
    .option("--event <file>", "a body, an event as tests write it, or a captured { headers, body }; - reads standard input")
    .option("--from-execution <id>", "take the event of a journalled execution from a running service")
    .option("--clock <time>", "RFC 3339 time at which the event arrives")
    .option("--json", "print everything as JSON")
  addRemoteOptions(command).action(async (file: string, options: RunOptions) => {
    const settings = config()
    const compiler = await openCompiler({ config: settings, root })
    try {
      const read = await readPipeline(resolve(file), compiler)
      if ("problem" in read) {
        console.log(formatFindings([read.problem], "text"))
        return end(1)
      }
      const { sent, at } = await takeEvent(options, read.document, settings.data_dir)
      const bench = await Workbench.open({ config: settings, root })
      try {
        if (at !== undefined) bench.clock.set(at)
        bench.outside.fixtures.push(() => ({ status: 200, headers: { "content-type": "application/json" }, body: "{}" }))
        const desk = await Desk.for(bench, [read.document])
        await desk.connectNamed(read.document)
        const outcome = await desk.send(await desk.make(read.document), sent)
        console.log(options.json ? JSON.stringify(outcome, null, 2) : storyOf(read.document.name, sent, outcome))
        end(outcome.entry.status === "accepted" ? 0 : 1)
      } finally {
        await bench.stop()
      }
    } finally {
      await compiler.stop()
    }
  })
}

async function takeEvent(options: RunOptions, document: PipelineDocument, dataDir: string): Promise<Taken> {
  if (options.fromExecution !== undefined) {
    const remote = openRemote(options, dataDir)
    const kept = await remote.payload(slugOfDocument(document), options.fromExecution)
    // What is kept has no proof left in it, and its body is JSON whatever it came as.
    const headers = { ...kept.headers, "content-type": "application/json" }
    const query = Object.fromEntries(Object.entries(kept.query).map(([name, value]) => [name, String(value)]))
    const sent = { method: "POST", headers, query, body: Buffer.from(kept.body), signWith: { secret: "" } }
    return { sent, at: options.clock ?? kept.received_at }
  }
  if (options.event === undefined) throw new BootError(["Name the event: --event FILE, or --from-execution ID."])
  const folder = options.event === "-" ? process.cwd() : dirname(resolve(options.event))
  return { sent: requestOf(readEventFile(options.event), folder), at: options.clock }
}
