// A provider of models on loopback with chat completions, embeddings and Anthropic's messages. Answers as the test decides, and
// records its requests.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** A request, over any protocol. */
export interface ModelRequest {
  readonly protocol: "openai" | "anthropic"
  readonly model: string
  /** Instructions. */
  readonly system: string
  /** Text of the user's message. */
  readonly text: string
  /** Number of its images. */
  readonly images: number
  readonly temperature: number | undefined
  /** Names of the offered tools. */
  readonly tools: readonly string[]
  /** Answers of tools so far. */
  readonly answers: readonly string[]
  /** The requested JSON Schema of the answer, if any. */
  readonly schema: unknown
  readonly headers: IncomingHttpHeaders
  /** The request's body, byte for byte. */
  readonly body: string
  /** The images' bytes, in order. */
  readonly pictures: readonly Buffer[]
}

/** An answer as text or as an object (sent as JSON), tool calls (OpenAI protocol), a refusal, a status, or silence. */
export type Said =
  | string
  | { readonly calls: readonly { readonly name: string; readonly input: unknown }[] }
  | { readonly json: unknown }
  /** The usage in the form of the OpenAI protocol. */
  | { readonly text: string; readonly usage: object }
  | { readonly declines: string }
  | { readonly status: number; readonly retryAfterMs?: number }
  | "silent"

export interface ModelServer {
  /** URL of the OpenAI protocol. */
  readonly url: string
  readonly asked: readonly ModelRequest[]
  /** Texts of embedding requests, in order of the requests. */
  readonly embedded: readonly string[]
  answer(say: (request: ModelRequest, place: number) => Said): void
  /** Delays answers until then. */
  hold(until: Promise<void>): void
  embedBy(vector: (text: string) => number[]): void
  /** Leaves embedding requests of matching texts unanswered. `how`: the requests wait, or their connections end. */
  embedNothing(of: (texts: readonly string[]) => boolean, how?: "silent" | "cut"): void
  forget(): void
  close(): Promise<void>
}

interface Wire {
  readonly model: string
  readonly system?: string | readonly { readonly text: string }[]
  readonly messages?: readonly { readonly role: string; readonly content: string | readonly Part[] }[]
  readonly temperature?: number
  readonly response_format?: { readonly json_schema?: unknown }
  readonly output_config?: { readonly format?: unknown }
  readonly tools?: readonly { readonly name?: string; readonly function?: { readonly name: string } }[]
  readonly input?: readonly string[]
}

interface Part {
  readonly type: string
  readonly text?: string
  readonly image_url?: { readonly url: string }
  readonly source?: { readonly data: string }
}

const tokensIn = 100
const tokensOut = 20

export async function modelServer(): Promise<ModelServer> {
  const requests: ModelRequest[] = []
  const embedded: string[] = []
  let say: (request: ModelRequest, place: number) => Said = () => "Fine."
  let gate: Promise<void> = Promise.resolve()
  let vectorOf = (text: string): number[] => [text.length, 1]
  let isSilentOn = (_texts: readonly string[]) => false
  let isCut = false
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8")
      const wire = JSON.parse(body) as Wire
      if (request.url?.endsWith("/embeddings")) {
        const input = wire.input ?? []
        embedded.push(...input)
        if (isSilentOn(input)) return isCut ? void response.destroy() : undefined
        const data = input.map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text) }))
        return send(response, { object: "list", model: wire.model, data, usage: { prompt_tokens: tokensIn, total_tokens: tokensIn } })
      }
      const protocol = request.url?.endsWith("/messages") ? "anthropic" : "openai"
      const item = { ...readAsked(wire, protocol), headers: request.headers, body }
      requests.push(item)
      const place = requests.length - 1
      gate.then(() => answer(response, item, say(item, place)))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked: requests,
    embedded,
    answer: (by) => {
      say = by
    },
    hold: (until) => {
      gate = until
    },
    embedBy: (by) => {
      vectorOf = by
    },
    embedNothing: (of, how = "silent") => {
      isSilentOn = of
      isCut = how === "cut"
    },
    forget: () => {
      requests.length = 0
      embedded.length = 0
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function readAsked(wire: Wire, protocol: "openai" | "anthropic"): Omit<ModelRequest, "headers" | "body"> {
  const messages = wire.messages ?? []
  const parts = messages.filter(({ role }) => role === "user").flatMap(({ content }) => partsOf(content))
  const systems = [wire.system ?? "", ...messages.filter(({ role }) => role === "system").map(({ content }) => content)]
  return {
    protocol,
    model: wire.model,
    system: systems
      .flatMap((part) => partsOf(part as Wire["system"] & string))
      .map(({ text = "" }) => text)
      .join("\n")
      .trim(),
    text: parts.flatMap(({ text }) => text ?? []).join("\n"),
    images: parts.filter(({ type }) => type !== "text").length,
    temperature: wire.temperature,
    tools: (wire.tools ?? []).map(({ name, function: of }) => of?.name ?? name ?? ""),
    answers: messages
      .filter(({ role }) => role === "tool")
      .flatMap(({ content }) => partsOf(content))
      .map(({ text = "" }) => text),
    schema: wire.response_format?.json_schema ?? wire.output_config?.format ?? wire.tools?.[0],
    pictures: parts.flatMap(pictureOf),
  }
}

/** A data URL in the OpenAI protocol, a separate field in Anthropic's. */
function pictureOf({ image_url, source }: Part): Buffer[] {
  const data = image_url?.url.replace(/^data:[^,]*,/, "") ?? source?.data
  return data === undefined ? [] : [Buffer.from(data, "base64")]
}

function partsOf(content: string | readonly Part[]): readonly Part[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content
}

function answer(response: ServerResponse, { protocol, model }: ModelRequest, reply: Said): void {
  if (reply === "silent") return
  if (typeof reply === "object" && "status" in reply) {
    const wait = reply.retryAfterMs === undefined ? {} : { "retry-after-ms": String(reply.retryAfterMs) }
    response.writeHead(reply.status, { "content-type": "application/json", ...wait })
    response.end(JSON.stringify({ error: { message: "sk-secret-of-the-provider is over its limit", type: "error" } }))
    return
  }
  const calls = typeof reply === "object" && "calls" in reply ? reply.calls : undefined
  const declines = typeof reply === "object" && "declines" in reply ? reply.declines : undefined
  const text = declines ?? textOf(reply)
  if (protocol === "anthropic") {
    send(response, {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model,
      content: [{ type: "text", text }],
      stop_reason: declines === undefined ? "end_turn" : "refusal",
      stop_sequence: null,
      usage: { input_tokens: tokensIn, output_tokens: tokensOut },
    })
    return
  }
  const tool_calls = calls?.map(({ name, input }, at) => ({
    id: `call_${at}`,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }))
  const message = tool_calls
    ? { role: "assistant", content: null, tool_calls }
    : declines === undefined
      ? { role: "assistant", content: text }
      : { role: "assistant", content: null, refusal: text }
  send(response, {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model,
    choices: [{ index: 0, message, finish_reason: tool_calls ? "tool_calls" : "stop" }],
    usage: usageOf(reply),
  })
}

function textOf(reply: Said): string {
  if (typeof reply === "string") return reply
  return typeof reply === "object" && "text" in reply ? reply.text : JSON.stringify((reply as { json: unknown }).json)
}

function usageOf(reply: Said): object {
  if (typeof reply === "object" && "usage" in reply) return reply.usage
  return { prompt_tokens: tokensIn, completion_tokens: tokensOut, total_tokens: tokensIn + tokensOut }
}

function send(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}
