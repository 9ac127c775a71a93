// Subscribes to the live channel `executions` of a running service. Events missed during a lost connection arrive after the
// reconnect, once each.
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
  /** The failed step, if an execution failed. */
  readonly step: string | null
  /** The original of a repeat or replay. */
  readonly repeat_of: string | null
  readonly replay_of: string | null
}

export interface LiveEventsArgs {
  readonly remote: Remote
  readonly terminal: Terminal
  /** Called for one event at a time. */
  readonly heard: (event: LiveEvent) => Promise<void> | void
  /** Slugs of the wanted pipelines. Empty: all pipelines. */
  readonly pipelines?: readonly string[] | undefined
  /** Printed after the subscription starts. */
  readonly greeting: string
}

/** Runs until stopped. Throws AppError if the service cannot be reached or refuses the subscription. */
export async function hearEvents({ remote, terminal, heard, greeting, pipelines = [] }: LiveEventsArgs): Promise<void> {
  const { url, key: token, organization } = remote
  await remote.reach()
  // Fail early: a wrong slug would never receive an event.
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
