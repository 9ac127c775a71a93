// An agent on loopback, reached as a webhook or by chat completions; it answers as a test says, and remembers what it was
// asked.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface AskedAgent {
  readonly path: string
  readonly body: Record<string, unknown>
  readonly headers: IncomingHttpHeaders
  /** What it was given, by either protocol. */
  readonly input: string
  readonly repeat: number
}

/** An answer as text, a whole body, a status, or silence. */
export type AgentSaid = string | { readonly body: unknown } | { readonly status: number } | "silent"

export interface AgentServer {
  readonly url: string
  readonly asked: readonly AskedAgent[]
  answer(say: (asked: AskedAgent) => AgentSaid): void
  /** Answers are kept back until then. */
  hold(until: Promise<void>): void
  forget(): void
  close(): Promise<void>
}

export async function agentServer(): Promise<AgentServer> {
  const asked: AskedAgent[] = []
  let say: (asked: AskedAgent) => AgentSaid = () => "Fine."
  let held: Promise<void> = Promise.resolve()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, unknown>
      const messages = body["messages"] as { readonly role: string; readonly content: string }[] | undefined
      const input = String(body["input"] ?? messages?.findLast(({ role }) => role === "user")?.content)
      const one = { path: request.url ?? "", body, headers: request.headers, input, repeat: Number(body["repeat"] ?? 0) }
      asked.push(one)
      held.then(() => respond(response, say(one), body["run_id"] === undefined))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answer: (by) => {
      say = by
    },
    hold: (until) => {
      held = until
    },
    forget: () => {
      asked.length = 0
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function respond(response: ServerResponse, said: AgentSaid, chats: boolean): void {
  if (said === "silent") return
  const [status, body] = typeof said === "object" && "status" in said ? [said.status, {}] : [200, bodyOf(said, chats)]
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}

function bodyOf(said: string | { readonly body: unknown }, chats: boolean): unknown {
  if (typeof said === "object") return said.body
  return chats ? completion(said) : { output: said }
}

function completion(content: string) {
  const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 }
  return { choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }], usage }
}
