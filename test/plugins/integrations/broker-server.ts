// A connection broker on loopback with the used part of Nango's API: sessions, connections, credentials.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { json } from "./oauth/vendor-server.ts"

export const secretKey = "BROKER-SECRET-KEY-0123456789"

interface BrokerConnection {
  readonly integration: string
  readonly tags: Readonly<Record<string, string>>
  readonly created: string
  token: string
  refused: boolean
}

export interface BrokerServer {
  readonly url: string
  readonly asked: string[]
  readonly connections: Map<string, BrokerConnection>
  /** Replaces the broker's answers. */
  fails: ((response: ServerResponse) => void) | undefined
  /** True to list connections of all users, like a broker without a filter by tags. */
  listsAll: boolean
  /** Acts as a user who opens a connect_link. */
  grant(link: string): void
  close(): Promise<void>
}

export async function startBroker(): Promise<BrokerServer> {
  const sessions = new Map<string, { readonly integration: string; readonly tags: Record<string, string> }>()
  let count = 0
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const own: BrokerServer = {
    url,
    asked: [],
    connections: new Map(),
    fails: undefined,
    listsAll: false,
    grant(link) {
      const session = sessions.get(new URL(link).searchParams.get("session_token") ?? "")
      if (!session) throw new Error("The session does not exist.")
      const number = ++count
      own.connections.set(`connection-${number}`, {
        ...session,
        created: new Date(number * 1_000).toISOString(),
        token: `BROKERED-TOKEN-${number}-0123456789`,
        refused: false,
      })
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = new URL(request.url ?? "/", url)
    let text = ""
    for await (const chunk of request.setEncoding("utf8")) text += String(chunk)
    own.asked.push(`${request.method} ${at.pathname}`)
    if (own.fails) return own.fails(response)
    if (request.headers.authorization !== `Bearer ${secretKey}`) return json(response, 401, { error: { code: "unauthorized" } })
    if (at.pathname === "/connect/sessions") {
      const { tags, allowed_integrations } = JSON.parse(text) as { tags: Record<string, string>; allowed_integrations: string[] }
      const token = `session-${sessions.size}`
      sessions.set(token, { integration: allowed_integrations[0] ?? "", tags })
      return json(response, 201, { data: { token, connect_link: `${url}/?session_token=${token}`, expires_at: "2100-01-01T00:00:00Z" } })
    }
    if (at.pathname === "/connections") {
      const expected = at.searchParams.get("tags[end_user_id]")
      const entries = [...own.connections].filter(([, { tags }]) => own.listsAll || tags["end_user_id"] === expected)
      const connections = entries.map(([connection_id, { integration, created, tags }]) => ({
        connection_id, provider_config_key: integration, provider: "test", created, tags, errors: [],
      })) // biome-ignore format: one row
      return json(response, 200, { connections })
    }
    answerOne(request.method ?? "", at, response)
  }

  function answerOne(method: string, at: URL, response: ServerResponse): unknown {
    const id = at.pathname.replace("/connections/", "")
    const connection = own.connections.get(id)
    if (!connection || at.searchParams.get("provider_config_key") !== connection.integration)
      return json(response, 404, { error: { code: "not_found" } })
    if (method === "DELETE") {
      own.connections.delete(id)
      return json(response, 200, { success: true })
    }
    if (connection.refused) return json(response, 424, { error: { code: "invalid_credentials" } })
    if (at.searchParams.get("force_refresh") === "true") connection.token = `BROKERED-TOKEN-fresh-${id}`
    return json(response, 200, { connection_id: id, credentials: { type: "OAUTH2", access_token: connection.token, raw: {} }, errors: [] })
  }

  return own
}
