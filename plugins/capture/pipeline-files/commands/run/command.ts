// `millrace pipelines run`: runs one event through a document with the real engine and shows each stage. Outgoing mail and calls
// are captured.
import { z } from "zod"
import { CommandProblem } from "#core"
import {
  type EventOutcome,
  openCompiler,
  PipelineHarness,
  print,
  printError,
  Rehearsal,
  type SentEvent,
  type Terminal,
} from "#core/commands"
import type { CommandContext, PipelineDocument } from "#core/engine"
import { readText, shownPath } from "../files.ts"
import { formatFindings } from "../finding-formats.ts"
import { openRemote, type Remote, type RemoteOptions, slugOfDocument } from "../remote.ts"
import { pipelineOf, type ReadPipeline } from "../test/read-test-file.ts"
import { UnmetReads } from "../unmet-reads.ts"
import { readBodyFile, readEventFile, type Taken } from "./event-file.ts"
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

/** Returns the exit code. */
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

/** Marks the responses as canned. */
function asShown(outcome: EventOutcome): object {
  return outcome.calls.length === 0 ? outcome : { ...outcome, made_up: { every_call_was_answered: madeUpAnswer } }
}

/** Returns the RFC 3339 time unchanged. Throws CommandProblem. */
function timeGiven(option: string, text: string): string {
  if (z.iso.datetime({ offset: true }).safeParse(text).success) return text
  throw new CommandProblem(`${option} takes an RFC 3339 time, such as 2026-01-15T09:30:00Z, not "${text}".`, 2)
}

/** Returns undefined if the event must be read from a running service. */
function filedEvent({ event, body, fromExecution }: RunOptions): Taken | undefined {
  const named = [event, body, fromExecution].filter((one) => one !== undefined)
  if (named.length !== 1) throw new CommandProblem("Give one event: --event FILE, --body FILE, or --from-execution ID.", 2)
  if (event !== undefined) return readEventFile(event)
  return body === undefined ? undefined : readBodyFile(body)
}

async function takeExecution({ fromExecution = "" }: RunOptions, document: PipelineDocument, remote: Remote): Promise<Taken> {
  const kept = await remote.payload(slugOfDocument(document), fromExecution)
  // A stored payload has no credential, and its body is JSON for every content type.
  const headers = { ...kept.headers, "content-type": "application/json" }
  const query = Object.fromEntries(Object.entries(kept.query).map(([name, value]) => [name, String(value)]))
  const sent: SentEvent = { method: "POST", headers, query, body: Buffer.from(kept.body), signWith: { secret: "" } }
  return { sent, kind: "execution", at: kept.received_at }
}

// An event may carry its sender's own signature or secret. Such an event is verified with the document's own secret, as in the
// service. Other events are signed here with a test secret.

interface Proving {
  readonly sent: SentEvent
  /** Secret for the pipeline. Undefined: a test secret. */
  readonly secret: string | undefined
  /** Explains why verification may fail with any secret. */
  readonly remark: string | undefined
}

interface ProvingArgs {
  readonly harness: PipelineHarness
  readonly document: PipelineDocument
  readonly taken: Pick<Taken, "sent" | "kind">
  readonly env: NodeJS.ProcessEnv
}

async function provingOf({ harness, document, taken, env }: ProvingArgs): Promise<Proving> {
  const { sent } = taken
  if (!(await hasOwnProof(harness, document, taken))) return { sent, secret: undefined, remark: undefined }
  const own = { ...sent, signWith: undefined }
  const variable = variableOf(document.auth_config["secret"])
  if (variable === undefined) {
    const remark = "The event carries its own signature, and the document names no variable with the secret, so it cannot be verified here."
    return { sent: own, secret: undefined, remark }
  }
  const secret = env[variable] || undefined
  const unset = `${variable} is not set, and the event carries its own signature: set it to the secret that signed the event.`
  return { sent: own, secret, remark: secret === undefined ? unset : undefined }
}

/**
 * Returns true if the event carries its own credential. A handwritten event may have only some parts of the credential; a
 * captured event is used unchanged.
 */
async function hasOwnProof(harness: PipelineHarness, document: PipelineDocument, { sent, kind }: ProvingArgs["taken"]): Promise<boolean> {
  if (kind === "execution" || (sent.signWith && sent.signWith.secret !== "")) return false
  const names = await harness.proofNames(document, sent)
  if (names === undefined) return true
  const given = new Set([...Object.keys(sent.headers), ...Object.keys(sent.query)].map((name) => name.toLowerCase()))
  if (names.length === 0) return false
  return kind === "captured" || !sent.signWith ? names.some((name) => given.has(name)) : names.every((name) => given.has(name))
}

function variableOf(secret: unknown): string | undefined {
  const name = (secret as { from_env?: unknown } | undefined)?.from_env
  return typeof name === "string" ? name : undefined
}
