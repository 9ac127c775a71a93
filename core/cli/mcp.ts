// `millrace mcp`: the service's MCP tools over standard input and output, for a client on this machine. Forwards each message to
// `POST /mcp` with the profile's key and writes the responses. The service decides on tools, rights, audit log and protocol
// revision.
import { createInterface } from "node:readline"
import { baseOf } from "../client/caller.ts"
import { allDone } from "../kernel/promises.ts"
import type { Terminal } from "../kernel/terminal.ts"
import { type Message, messagesOf, requestIdsOf } from "./mcp/message.ts"
import { type McpTarget, type Refusal, Service } from "./mcp/service.ts"

/** Maximum wait for open responses after the end of standard input. */
const lastAnswersMs = 30_000

/** Serves until standard input ends and earlier requests are answered. */
export async function serveMcp(target: McpTarget, { stdin, stdout, stderr }: Terminal): Promise<void> {
  const service = new Service({ ...target, url: baseOf(target.url) })
  const write = (message: unknown) => void stdout.write(`${JSON.stringify(message)}\n`)
  const inFlight = new Map<Promise<void>, Message>()

  for await (const line of createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.trim() === "") continue
    const message = messagesOf(line)
    if (message === undefined) write({ jsonrpc: "2.0", id: null, error: { code: -32_700, message: "The line is not a JSON-RPC message." } })
    else if (!service.cancels(message)) {
      const carried = service
        .carry({ message, line }, write)
        .catch((refusal: Refusal) => refuse(message, refusal))
        .finally(() => inFlight.delete(carried))
      inFlight.set(carried, message)
    }
  }

  function refuse(message: Message, { code, text, data }: Refusal): void {
    const ids = requestIdsOf(message)
    if (ids.length === 0) stderr.write(`${text}\n`)
    for (const id of ids) write({ jsonrpc: "2.0", id, error: { code, message: text, data } })
  }

  const timer = setTimeout(() => service.close(), lastAnswersMs)
  service.closeStreams()
  await allDone(inFlight.keys())
  clearTimeout(timer)
}
