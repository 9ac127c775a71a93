// `millrace pipelines listen`: forwards each accepted event of a running service to a local server during development.
import { AppError } from "#core"
import { print } from "#core/commands"
import { BootError, type CommandContext } from "#core/engine"
import { hearEvents, type LiveEvent } from "./live-events.ts"
import { openRemote, type Remote, type RemoteOptions } from "./remote.ts"
import { eventLine, wanted } from "./tail.ts"

interface ListenOptions extends RemoteOptions {
  readonly forward: string
  readonly pipeline?: string[]
}

export async function listen(options: ListenOptions, { config, terminal }: CommandContext): Promise<undefined> {
  if (!URL.canParse(options.forward)) throw new BootError([`--forward: "${options.forward}" is not an absolute URL.`])
  const remote = await openRemote(options, config().data_dir, terminal)
  // An event is announced again after a repair of its deferred steps.
  const forwarded = new Set<string>()
  await hearEvents({
    remote,
    terminal,
    pipelines: options.pipeline,
    greeting: `Forwarding accepted events of ${remote.url} to ${options.forward}.`,
    heard: async (event) => {
      if (event.status !== "accepted" || !wanted(event, options) || forwarded.has(event.id)) return
      forwarded.add(event.id)
      // The original was forwarded. The service replies to a repeat with the first reply and runs no steps.
      if (event.repeat_of) return print(terminal, `${eventLine(event)}  not forwarded`)
      print(terminal, `${eventLine(event)}  → ${await forward(event, remote, options.forward)}`)
    },
  })
}

/** Headers of the original connection. */
const ownHeaders = new Set(["host", "content-length", "connection", "accept-encoding", "transfer-encoding"])

/** Forwards the event's body and headers without its credential, and adds headers of the service. Returns the result as text. */
async function forward(event: LiveEvent, remote: Remote, url: string): Promise<string> {
  try {
    const kept = await remote.payload(event.pipeline, event.id)
    const headers = Object.fromEntries(Object.entries(kept.headers).filter(([name]) => !ownHeaders.has(name)))
    const target = new URL(url)
    for (const [name, value] of Object.entries(kept.query)) target.searchParams.set(name, String(value))
    const response = await fetch(target, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json", "x-millrace-pipeline": event.pipeline, "x-millrace-execution": event.id },
      body: kept.body,
      signal: AbortSignal.timeout(30_000),
    })
    await response.body?.cancel()
    return String(response.status)
  } catch (error) {
    if (error instanceof AppError) return error.message
    return `not delivered (${(error as { cause?: { code?: string } }).cause?.code ?? (error as Error).message})`
  }
}
