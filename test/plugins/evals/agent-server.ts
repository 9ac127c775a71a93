// An agent on loopback, called by webhook or chat completions. Answers as the test decides, and records its requests.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface AgentRequest {
  readonly path: string
  readonly body: Record<string, unknown>
  readonly headers: IncomingHttpHeaders
  /** The input, by either protocol. */
  readonly input: string
  readonly repeat: number
}

/** An answer as text, a whole body, a status, or silence. */
export type AgentSaid = string | { readonly body: unknown } | { readonly status: number } | "silent"

export interface AgentServer {
  readonly url: string
  readonly asked: readonly AgentRequest[]
  answer(say: (request: AgentRequest) => AgentSaid): void
  /** Delays answers until then. */
  hold(until: Promise<void>): void
  forget(): void
  close(): Promise<void>
}

export async function agentServer(): Promise<AgentServer> {
  const requests: AgentRequest[] = []
  let say: (request: AgentRequest) => AgentSaid = () => "Fine."
  let gate: Promise<void> = Promise.resolve()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, unknown>
      const messages = body["messages"] as { readonly role: string; readonly content: string }[] | undefined
      const input = String(body["input"] ?? messages?.findLast(({ role }) => role === "user")?.content)
      const item = { path: request.url ?? "", body, headers: request.headers, input, repeat: Number(body["repeat"] ?? 0) }
      requests.push(item)
      gate.then(() => respond(response, say(item), body["run_id"] === undefined))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: requests,
    answer: (by) => {
      say = by
    },
    hold: (until) => {
      gate = until
    },
    forget: () => {
      requests.length = 0
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function respond(response: ServerResponse, reply: AgentSaid, chats: boolean): void {
  if (reply === "silent") return
  const [status, body] = typeof reply === "object" && "status" in reply ? [reply.status, {}] : [200, bodyOf(reply, chats)]
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}

function bodyOf(message: string | { readonly body: unknown }, chats: boolean): unknown {
  if (typeof message === "object") return message.body
  return chats ? completion(message) : { output: message }
}

function completion(content: string) {
  const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 }
  return { choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }], usage }
}
