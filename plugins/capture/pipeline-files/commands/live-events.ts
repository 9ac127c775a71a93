// The events of a running service as they come: the live channel `executions`. What happens while the connection is lost
// comes after it, once.
import { styleText } from "node:util"
import { AppError } from "#core"
import { connectLive, printError, type Terminal } from "#core/commands"
import type { Remote } from "./remote.ts"

export interface LiveEvent {
  readonly id: string
  readonly pipeline: string
  readonly status: "accepted" | "rejected" | "failed"
  readonly cause: string
  readonly received_at: string
  readonly is_test: boolean
  /** Of a failed one, the step that failed. */
  readonly step: string | null
  /** The execution that this event repeats, or runs again. */
  readonly repeat_of: string | null
  readonly replay_of: string | null
}

export interface LiveEventsArgs {
  readonly remote: Remote
  readonly terminal: Terminal
  /** Called for one event after the other, never two at once. */
  readonly heard: (event: LiveEvent) => Promise<void> | void
  /** The only pipelines whose events are wanted; all where there is none. */
  readonly pipelines?: readonly string[] | undefined
  /** Said once events are being heard. */
  readonly greeting: string
}

/** Runs until stopped. Throws AppError if the service cannot be reached or refuses the subscription. */
export async function hearEvents({ remote, terminal, heard, greeting, pipelines = [] }: LiveEventsArgs): Promise<void> {
  const { url, key: token, organization } = remote
  await remote.reach()
  // A name that is not there would be listened to for ever.
  for (const slug of pipelines) await remote.call("GET", `/v1/event-pipelines/${encodeURIComponent(slug)}`)
  const say = (text: string) => printError(terminal, styleText("dim", text))
  let lost = false
  const live = connectLive<{ executions: LiveEvent }>({
    url,
    token,
    ...(organization === undefined ? {} : { organization }),
    onState: (state) => {
      if (state === "connecting") say(`The connection to ${url} is lost; reconnecting.`)
      if (state === "connected" && lost) say("Connected again.")
      lost = state === "connecting"
    },
  })
  let work: Promise<void> = Promise.resolve()
  try {
    await new Promise<void>((resolve, reject) => {
      const { ready } = live.subscribe(
        "executions",
        ({ data }) => {
          work = work.then(() => heard(data)).catch(reject)
        },
        {
          onGap: () => say("More events arrived meanwhile than the service keeps for reconnects; read the rest with `executions`."),
          onError: ({ code, message, details }) => reject(AppError.from({ code, message, details })),
        },
      )
      ready.then(() => say(greeting), reject)
      terminal.stopped?.().addEventListener("abort", () => resolve())
    })
    await work
  } finally {
    live.close()
  }
}
