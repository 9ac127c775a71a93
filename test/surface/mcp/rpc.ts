// Sends one JSON-RPC request to `/mcp` without a client library (revision 2025-11-25). Returns the raw answer.
export interface RpcOptions {
  readonly url: string
  readonly key: string
  /** The query of the URL, with its question mark. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface ToolResult {
  readonly isError?: boolean
  readonly content: readonly { readonly type: string; readonly text: string }[]
}

export interface ListedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: Record<string, unknown>
  readonly annotations: Record<string, unknown>
}

export interface RpcAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly result: Record<string, never> | undefined
  readonly error: { readonly code: number; readonly message: string; readonly data?: { readonly code: string } } | undefined
}

export async function rpc(options: RpcOptions, method: string, params: object = {}): Promise<RpcAnswer> {
  return await post(options, { jsonrpc: "2.0", id: 1, method, params })
}

export async function post({ url, key, query = "", headers = {} }: RpcOptions, body: unknown): Promise<RpcAnswer> {
  const response = await fetch(`${url}/mcp${query}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
      ...headers,
    },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  const json = /^data: (.*)$/m.exec(text)?.[1] ?? text
  const { result, error } = (json.startsWith("{") ? JSON.parse(json) : {}) as Partial<RpcAnswer>
  return { status: response.status, headers: response.headers, text, result, error }
}

/** Returns all pages of `tools/list`. */
export async function toolsOf(options: RpcOptions): Promise<ListedTool[]> {
  const tools: ListedTool[] = []
  let cursor: string | undefined
  do {
    const { result, text } = await rpc(options, "tools/list", cursor === undefined ? {} : { cursor })
    const page = result as { tools: ListedTool[]; nextCursor?: string } | undefined
    if (!page) throw new Error(`no page of tools: ${text.slice(0, 300)}`)
    tools.push(...page.tools)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return tools
}

export async function callTool(options: RpcOptions, name: string, input: object = {}): Promise<ToolResult> {
  const { result, text } = await rpc(options, "tools/call", { name, arguments: input })
  if (!result) throw new Error(`no result: ${text.slice(0, 300)}`)
  return result as unknown as ToolResult
}

/** Returns the JSON of a result. */
export function jsonOf<T = Record<string, unknown>>({ content }: ToolResult): T {
  return JSON.parse(content[0]?.text ?? "null") as T
}
