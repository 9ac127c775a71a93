// Runs one operation for a command: calls it through the client and writes the response.
import { once } from "node:events"
import { createWriteStream } from "node:fs"
import { rename, rm } from "node:fs/promises"
import type { Writable } from "node:stream"
import type { ClientStream } from "../../client/answer.ts"
import { type CallByName, createCaller } from "../../client/caller.ts"
import { pagesOf } from "../../client/client.ts"
import type { ClientRoute, Fields } from "../../client/route.ts"
import { CommandProblem } from "../../kernel/command.ts"
import { harmless, OutputLost, type Terminal } from "../../kernel/terminal.ts"
import type { Target } from "../profiles.ts"
import { recordText, tableText } from "./show.ts"

export interface RunArgs {
  readonly name: string
  readonly route: ClientRoute
  /** Fields shown first in a list. */
  readonly columns?: readonly string[] | undefined
  readonly input: Fields
  readonly target: Target
  /** Replaces the call of the target. */
  readonly call?: CallByName | undefined
  readonly terminal: Terminal
  readonly json: boolean
  readonly all: boolean
  /** A file instead of standard output. */
  readonly output: string | undefined
}

/** Throws ClientError or CommandProblem. */
export async function runOperation(args: RunArgs): Promise<void> {
  const { name, route, terminal } = args
  const progress = progressOn(terminal, `Waiting for ${name}`)
  const call = args.call ?? callOf(args, progress)
  const signal = terminal.interrupted?.()
  const ask = (input: Fields) => call(name, input, { signal })
  try {
    if (route.streams) await writeStream((await ask(args.input)) as ClientStream, args, progress)
    else if (args.all && route.list !== undefined) await writeAll(ask, route.list, args, progress)
    else await writeAnswer(await ask(args.input), args, progress)
  } finally {
    progress.end()
  }
}

function callOf({ name, route, target }: RunArgs, progress: Progress): CallByName {
  return createCaller(
    { [name]: route },
    {
      baseUrl: target.url,
      key: target.key,
      organization: target.organization,
      onRetry: ({ error, delayMs }) => progress.say(`${error.code}: trying again in ${Math.ceil(delayMs / 1_000)} s`),
    },
  )
}

async function writeAnswer(answer: unknown, args: RunArgs, progress: Progress): Promise<void> {
  const text = args.json || args.output !== undefined ? harmless(JSON.stringify(answer, null, 2)) : textOf(answer, args)
  await writeTo(args, progress, async (write) => await write(`${text}\n`))
}

function textOf(answer: unknown, { route, terminal, columns }: RunArgs): string {
  const list = route.list ?? soleList(answer)
  if (list === undefined) return recordText(answer)
  const page = answer as Fields
  const items = page[list] as readonly unknown[]
  const more =
    typeof page["next_cursor"] === "string" && page["next_cursor"] !== ""
      ? ["More results: use --all, or --cursor with `next_cursor` of --json."]
      : []
  const short =
    route.offset && Number(page["total"]) > items.length ? [`${items.length} of ${String(page["total"])}: --all, or --offset.`] : []
  return [tableText(items, widthOf(terminal), columns), ...more, ...short].join("\n")
}

/** Returns the list field of a response with a single field. */
function soleList(answer: unknown): string | undefined {
  const entries = Object.entries(typeof answer === "object" && answer !== null ? answer : {})
  const [only] = entries
  return entries.length === 1 && only && Array.isArray(only[1]) ? only[0] : undefined
}

/**
 * Reads page after page. Tables of separate pages would not align, so people see one table at the end. Programs receive one line
 * for each item immediately.
 */
async function writeAll(ask: (input: Fields) => Promise<unknown>, list: string, args: RunArgs, progress: Progress): Promise<void> {
  const { pages } = pagesOf((input) => ask(input) as Promise<Fields>, { list, by: args.route.offset ? "offset" : "cursor" })
  const kept: unknown[] = []
  const lines = args.json || args.output !== undefined
  let count = 0
  await writeTo(args, progress, async (write) => {
    for await (const page of pages(args.input)) {
      const items = page[list] as readonly unknown[]
      count += items.length
      progress.say(`${count} ${list.replaceAll("_", " ")}`)
      if (!lines) kept.push(...items)
      else if (items.length > 0) await write(items.map((item) => `${harmless(JSON.stringify(item))}\n`).join(""))
    }
    if (!lines) await write(`${tableText(kept, widthOf(args.terminal), args.columns)}\n`)
  })
}

async function writeStream(stream: ClientStream, args: RunArgs, progress: Progress): Promise<void> {
  let bytes = 0
  const shown = args.output === undefined && args.terminal.stdout.isTTY ? new TextDecoder() : undefined
  await writeTo(args, progress, async (write) => {
    for await (const chunk of stream) {
      await write(shown ? harmless(shown.decode(chunk, { stream: true }).replaceAll("\r\n", "\n")) : chunk)
      bytes += chunk.length
      progress.say(`${stream.fileName}: ${bytesText(bytes)}`)
    }
  })
}

/** Writes to standard output or to a file. The file appears complete or not at all. */
async function writeTo(
  { output, terminal }: RunArgs,
  progress: Progress,
  run: (write: (chunk: string | Uint8Array) => Promise<void>) => Promise<void>,
): Promise<void> {
  if (output === undefined) {
    return await run(async (chunk) => {
      if (typeof chunk === "string") progress.end()
      await written(terminal.stdout, chunk).catch((cause: NodeJS.ErrnoException) => {
        throw cause.code === "EPIPE" ? cause : new OutputLost(cause.message, { cause })
      })
    })
  }
  const draft = `${output}.${process.pid}.part`
  const unwritten = (cause: Error) => {
    throw new CommandProblem(`${output} cannot be written: ${cause.message}`)
  }
  const file = createWriteStream(draft, { flags: "wx", mode: 0o600 })
  // The writes below also report the error.
  file.on("error", () => {})
  try {
    await once(file, "open").catch(unwritten)
    await run((chunk) => written(file, chunk).catch(unwritten))
    file.end()
    await once(file, "close").catch(unwritten)
    await rename(draft, output).catch(unwritten)
  } catch (error) {
    file.destroy()
    await rm(draft, { force: true })
    throw error
  }
}

/** Waits if the reader is slower than the service. */
async function written(to: Writable, chunk: string | Uint8Array): Promise<void> {
  await new Promise<void>((resolve, reject) => to.write(chunk, (error) => (error ? reject(error) : resolve())))
}

function widthOf({ stdout }: Terminal): number {
  return stdout.isTTY ? (stdout.columns ?? 80) : Number.POSITIVE_INFINITY
}

// A progress line on standard error for calls longer than one second. Only on a terminal.

interface Progress {
  /** Sets the text. It appears within the next second. */
  say(what: string): void
  end(): void
}

const eachMs = 1_000

function progressOn({ stderr }: Terminal, first: string): Progress {
  if (!stderr.isTTY) return { say() {}, end() {} }
  let what = first
  let drawn = false
  const started = performance.now()
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - started) / 1_000)
    stderr.write(`\r\u001b[K${`${what}, ${seconds} s`.slice(0, (stderr.columns ?? 80) - 1)}`)
    drawn = true
  }, eachMs)
  return {
    say(now) {
      what = now
    },
    end() {
      clearInterval(timer)
      if (drawn) stderr.write("\r\u001b[K")
    },
  }
}

function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
