// The events of a running service as they come: the live channel `executions`, over the socket that the service offers.
import { io } from "socket.io-client"
import { AppError } from "../../kernel/errors.ts"
import type { Remote } from "./remote.ts"

export interface LiveEvent {
  readonly id: string
  readonly pipeline: string
  readonly status: "accepted" | "rejected" | "failed"
  readonly cause: string
  readonly received_at: string
  readonly is_test: boolean
}

export interface LiveEventsArgs {
  readonly remote: Remote
  /** Called for one event after the other, never two at once. */
  readonly heard: (event: LiveEvent) => Promise<void> | void
  /** Told once events are being heard, and again after a connection was lost and found. */
  readonly connected: () => void
}

/** Until the process is asked to stop. Throws AppError when the service refuses the subscription. */
export async function hearEvents({ remote, heard, connected }: LiveEventsArgs): Promise<void> {
  const { organization } = remote
  const auth = { token: remote.key, ...(organization === undefined ? {} : { organization }) }
  const socket = io(remote.url, { path: "/live", transports: ["websocket"], auth })
  let work: Promise<void> = Promise.resolve()
  try {
    await new Promise<void>((resolve, reject) => {
      socket.on("message", (message: { channel: string; data: LiveEvent }) => {
        if (message.channel !== "executions") return
        work = work.then(() => heard(message.data)).catch(reject)
      })
      socket.on("connect", () => {
        socket.emit("subscribe", { channel: "executions" }, (answer: { ok?: boolean; message?: string }) => {
          if (answer.ok) connected()
          else reject(new AppError("permission_denied", answer.message ?? "The service refused the subscription."))
        })
      })
      socket.on("connect_error", (error) => {
        if (!socket.active) reject(new AppError("unauthenticated", `${remote.url} refused the connection: ${error.message}`))
      })
      process.once("SIGINT", () => resolve()).once("SIGTERM", () => resolve())
    })
    await work
  } finally {
    socket.close()
  }
}
