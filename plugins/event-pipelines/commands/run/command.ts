// `millrace pipelines run`: one event through a document and the real engine, each stage shown; nothing is sent anywhere.

import { z } from "zod"
import { CommandProblem } from "#core"
import { type Outcome, openCompiler, PipelineHarness, print, printError, Rehearsal, type SentEvent, type Terminal } from "#core/commands"
import type { CommandContext, PipelineDocument } from "#core/engine"
import { readText, shownPath } from "../files.ts"
import { formatFindings } from "../finding-formats.ts"
import { openRemote, type Remote, type RemoteOptions, slugOfDocument } from "../remote.ts"
import { pipelineOf, type ReadPipeline } from "../test/read-test-file.ts"
import { UnmetReads } from "../unmet-reads.ts"
import { readBodyFile, readEventFile, type Taken } from "./event-file.ts"
import { provingOf } from "./own-proof.ts"
import { madeUpAnswer, storyOf } from "./story.ts"

interface RunOptions extends RemoteOptions {
  readonly event?: string
  readonly body?: string
  readonly fromExecution?: string
  readonly clock?: string
  readonly json?: boolean
}

export async function run(options: RunOptions, { args: [file = ""], config, root, terminal, end }: CommandContext): Promise<undefined> {
  const text = readText(file)
  const clock = options.clock === undefined ? undefined : timeGiven("--clock", options.clock)
  const filed = filedEvent(options)
  const settings = config()
  const compiler = await openCompiler({ config: settings, root, env: terminal.env })
  try {
    const read = await pipelineOf(shownPath(file), text, compiler)
    if ("problem" in read) {
      print(terminal, formatFindings([read.problem], "text"))
      return void end(1)
    }
    const taken = filed ?? (await takeExecution(options, read.document, await openRemote(options, settings.data_dir, terminal)))
    const at = clock ?? taken.at
    const rehearsal = await Rehearsal.open({ config: settings, root })
    try {
      if (at !== undefined) rehearsal.clock.set(at)
      end(await tell(rehearsal, read, { taken, json: options.json ?? false, terminal }))
    } finally {
      await rehearsal.stop()
    }
  } finally {
    await compiler.stop()
  }
}

/** The exit code. */
async function tell(
  rehearsal: Rehearsal,
  { document, reads }: Extract<ReadPipeline, { document: PipelineDocument }>,
  { taken, json, terminal }: { taken: Taken; json: boolean; terminal: Terminal },
): Promise<number> {
  rehearsal.outgoing.fixtures.push(() => madeUpAnswer)
  const harness = await PipelineHarness.for(rehearsal, [document])
  await harness.connectNamed(document)
  const { sent, secret, remark } = await provingOf({ harness, document, taken, env: terminal.env })
  const outcome = await harness.send(await harness.make(document, secret), sent)
  const unmet = new UnmetReads(reads)
  unmet.see(outcome.entry)
  const notes = unmet.notes("This event has no")
  print(
    terminal,
    json ? JSON.stringify({ ...asShown(outcome), notes }, null, 2) : storyOf(document.name, { ...taken, sent }, outcome, notes),
  )
  if (remark !== undefined && !outcome.entry.verdict.ok) printError(terminal, remark)
  return outcome.entry.status === "accepted" ? 0 : 1
}

/** Marks the responses as canned, not another system's. */
function asShown(outcome: Outcome): object {
  return outcome.calls.length === 0 ? outcome : { ...outcome, made_up: { every_call_was_answered: madeUpAnswer } }
}

/** An RFC 3339 time as it was given. Throws CommandProblem. */
function timeGiven(option: string, text: string): string {
  if (z.iso.datetime({ offset: true }).safeParse(text).success) return text
  throw new CommandProblem(`${option} takes an RFC 3339 time, such as 2026-01-15T09:30:00Z, not "${text}".`, 2)
}

/** undefined where a running service has it. */
function filedEvent({ event, body, fromExecution }: RunOptions): Taken | undefined {
  const named = [event, body, fromExecution].filter((one) => one !== undefined)
  if (named.length !== 1) throw new CommandProblem("Give one event: --event FILE, --body FILE, or --from-execution ID.", 2)
  if (event !== undefined) return readEventFile(event)
  return body === undefined ? undefined : readBodyFile(body)
}

async function takeExecution({ fromExecution = "" }: RunOptions, document: PipelineDocument, remote: Remote): Promise<Taken> {
  const kept = await remote.payload(slugOfDocument(document), fromExecution)
  // A stored payload has no proof, and its body is JSON for every content type.
  const headers = { ...kept.headers, "content-type": "application/json" }
  const query = Object.fromEntries(Object.entries(kept.query).map(([name, value]) => [name, String(value)]))
  const sent: SentEvent = { method: "POST", headers, query, body: Buffer.from(kept.body), signWith: { secret: "" } }
  return { sent, kind: "execution", at: kept.received_at }
}
