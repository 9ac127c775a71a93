// `millrace pipelines tail`: prints live events of a running service, one line each.
import { styleText } from "node:util"
import { print } from "#core/commands"
import type { CommandContext } from "#core/engine"
import { yamlLines } from "./line-diff.ts"
import { hearEvents, type LiveEvent } from "./live-events.ts"
import { openRemote, type RemoteOptions } from "./remote.ts"

interface TailOptions extends RemoteOptions {
  readonly pipeline?: string[]
  readonly status?: string[]
  readonly details?: boolean
  readonly json?: boolean
}

export async function tail(options: TailOptions, { config, terminal }: CommandContext): Promise<undefined> {
  const remote = await openRemote(options, config().data_dir, terminal)
  await hearEvents({
    remote,
    terminal,
    pipelines: options.pipeline,
    greeting: `Listening to ${remote.url}.`,
    heard: async (event) => {
      if (!wanted(event, options)) return
      const entry = options.details ? await remote.execution(event.pipeline, event.id) : undefined
      if (options.json) print(terminal, JSON.stringify(entry ?? event))
      else print(terminal, [eventLine(event), ...(entry ? yamlLines(entry as never).map((line) => `    ${line}`) : [])].join("\n"))
    },
  })
}

export function wanted(
  event: LiveEvent,
  { pipeline, status }: { readonly pipeline?: readonly string[]; readonly status?: readonly string[] },
): boolean {
  return (pipeline === undefined || pipeline.includes(event.pipeline)) && (status === undefined || status.includes(event.status))
}

const colours = { accepted: "green", rejected: "yellow", failed: "red" } as const

export function eventLine({ received_at, status, pipeline, cause, step, id, is_test, repeat_of, replay_of }: LiveEvent): string {
  const marks = [
    step ? `${cause} in ${step}` : cause,
    is_test ? "test" : "",
    repeat_of ? `repeat of ${repeat_of}` : "",
    replay_of ? `replay of ${replay_of}` : "",
  ]
    .filter((mark) => mark !== "")
    .join(", ")
  return `${styleText("dim", received_at)} ${styleText(colours[status], status.padEnd(8))} ${pipeline.padEnd(20)} ${styleText("dim", id)}${marks ? `  ${marks}` : ""}`
}
