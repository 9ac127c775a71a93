// Floods an address from a separate process: posts on a number of connections without a pause until its parent disconnects. Then
// reports the count of each status.
import { Agent, request } from "node:http"

const [url = "", connections = ""] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: Number(connections) })
const answers: Record<number, number> = {}
let on = true

function send(): Promise<void> {
  return new Promise((resolve) => {
    const outgoing = request(url, { method: "POST", agent, headers: { "content-type": "application/json" } }, (answer) => {
      const status = answer.statusCode ?? 0
      answers[status] = (answers[status] ?? 0) + 1
      answer.resume().once("end", resolve)
    })
    outgoing.once("error", () => resolve())
    outgoing.end('{"n":1}')
  })
}

const senders = Array.from({ length: Number(connections) }, async () => {
  while (on) await send()
})
process.once("message", () => {
  on = false
  void Promise.all(senders).then(() => process.send?.(answers, () => process.disconnect()))
})
