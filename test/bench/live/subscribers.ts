// Subscribers in a separate process. Opens the sockets (WebSocket only), reports when all have joined, and reports each socket's
// delay of each broadcast. Processes share the machine's monotonic clock.
import { io } from "socket.io-client"

interface Start {
  readonly url: string
  readonly token: string
  readonly count: number
  readonly channel: string
}

const atOnce = 100

process.once("message", async (message) => {
  const { url, token, count, channel } = message as Start
  let waits: number[] = []
  const hear = ({ data }: { data: { sent: string } }) => {
    waits.push(Number(process.hrtime.bigint() - BigInt(data.sent)) / 1e6)
    if (waits.length < count) return
    process.send?.({ waits })
    waits = []
  }
  const join = () =>
    new Promise<void>((resolve, reject) => {
      const socket = io(url, { path: "/live", auth: { token }, transports: ["websocket"], forceNew: true, reconnection: false })
      socket.on("message", hear)
      socket.on("connect_error", reject)
      socket.on("connect", () =>
        socket.emit("subscribe", { channel }, (answer: { ok?: true }) =>
          answer.ok ? resolve() : reject(new Error(JSON.stringify(answer))),
        ),
      )
    })
  for (let joined = 0; joined < count; joined += atOnce) await Promise.all(Array.from({ length: Math.min(atOnce, count - joined) }, join))
  process.send?.({ joined: count })
})
process.on("disconnect", () => process.exit(0))
