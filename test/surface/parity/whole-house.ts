// The whole service with something of everything in it, a second organization with the same, and keys of every kind.

import { type Role, Works } from "#core"
import { type TestHost, testHost } from "#core/testing"
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { Operations } from "../../../core/contract/operation.ts"
import { pathParameters } from "../../../core/surface/call/audit.ts"
import { toolName } from "../../../core/surface/mcp/tools.ts"
import { ApiKeys, Organizations } from "../../../plugins/organizations/index.ts"

export interface Answered {
  readonly status: number
  readonly code: string | undefined
  readonly text: string
}

export interface WholeHouse {
  readonly host: TestHost
  readonly operations: readonly AnyOperation[]
  /** Slugs and ids of what each organization holds, by the operation's area. */
  readonly own: Seeds
  readonly foreign: Seeds
  key(wanted: { role: Role; scopes?: readonly string[] }): Promise<string>
  rest(operation: AnyOperation, input: Record<string, unknown>, key: string | null, headers?: Record<string, string>): Promise<Answered>
  mcp(operation: AnyOperation, input: Record<string, unknown>, key: string | null): Promise<Answered>
}

export interface Seeds {
  /** Values of `slug` and of `id` fields, as far as they were found in answers. */
  readonly slugs: readonly string[]
  readonly ids: readonly string[]
}

export async function wholeHouse(): Promise<WholeHouse> {
  const limits = { MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "1000000", MILLRACE_RATE_LIMITS_ORGANIZATION_PER_MINUTE: "1000000" }
  const host = await testHost({ env: { ...limits, MILLRACE_RATE_LIMITS_ADDRESS_PER_MINUTE: "1000000", MILLRACE_LOG_LEVEL: "error" } })
  const [organizations, keys, works] = [host.get(Organizations), host.get(ApiKeys), host.get(Works)]
  const other = await works.run((work) => organizations.create(work, { name: "Other house", slug: "other-house" }))
  const mint = (organization: string, role: Role, scopes?: readonly string[]) =>
    works.run((work) => {
      const kind = scopes ? ("token" as const) : ("api_key" as const)
      return keys.mint(work, organization, { name: "test", kind, role, scopes: scopes ? [...scopes] : null, user: null }).text
    })
  const otherKey = await mint(other.id, "owner")
  const operations = host.house.registry.items(Operations)
  const seeds = Promise.all([seed(host, operations, host.adminKey, "own"), seed(host, operations, otherKey, "foreign")])
  const [own, foreign] = await seeds.catch(async (error: unknown) => {
    await host.stop()
    throw error
  })
  return {
    host,
    operations,
    own,
    foreign,
    key: ({ role, scopes }) => mint(host.organization.id, role, scopes),
    rest: (operation, input, key, headers) => restCall(host.url, operation, input, key, headers),
    mcp: (operation, input, key) => mcpCall(host.url, operation, input, key),
  }
}

/** Makes one of the things that others hang on, then collects what every list without required input shows. */
async function seed(host: TestHost, operations: readonly AnyOperation[], key: string, prefix: string): Promise<Seeds> {
  const made = [
    await host.api("POST", "/v1/datasets", { name: `${prefix} leads` }, { key }),
    await host.api("POST", `/v1/datasets/${prefix}-leads/rows`, { rows: [{ email: "ada@example.com" }] }, { key }),
    await host.api(
      "POST",
      "/v1/event-pipelines",
      {
        name: `${prefix} website`,
        state: "active",
        source_kind: "internal",
        auth_mode: "none",
        pipeline: [{ type: "dataset.write", dataset_slug: `${prefix}-leads` }],
      },
      { key },
    ),
    await host.api("POST", `/v1/event-pipelines/${prefix}-website/events`, { payload: { email: "ada@example.com" } }, { key }),
    await host.api("POST", "/v1/pages", { title: `${prefix} page` }, { key }),
    await host.api("POST", "/v1/api-keys", { name: "another" }, { key }),
  ]
  const failed = made.filter(({ status }) => status >= 400)
  if (failed.length > 0) throw new Error(`seeding failed: ${JSON.stringify(failed.map(({ status, body }) => ({ status, body })))}`)
  const texts = made.map(({ body }) => JSON.stringify(body))
  for (const operation of operations) {
    if (operation.http.method !== "GET" || operation.streams || pathParameters(operation.http.path).length > 0) continue
    texts.push((await restCall(host.url, operation, {}, key)).text)
  }
  const valuesOf = (pattern: RegExp) => [...new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, value]) => value ?? "")))]
  return {
    slugs: valuesOf(/"slug":"([^"]+)"/g).filter((slug) => slug.startsWith(prefix)),
    ids: valuesOf(/"(?:id|execution_id)":"([0-9a-f-]{36})"/g),
  }
}

async function restCall(
  url: string,
  operation: AnyOperation,
  input: Record<string, unknown>,
  key: string | null,
  headers: Record<string, string> = {},
): Promise<Answered> {
  const { method, path } = operation.http
  const inPath = pathParameters(path)
  const segment = (name: string) => encodeURIComponent(textOf(input[name] ?? "nothing").toWellFormed() || "nothing")
  const target = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => segment(name))
  const rest = Object.entries(input).filter(([name]) => !inPath.includes(name))
  const fromQuery = method === "GET" || method === "DELETE"
  const query = fromQuery
    ? new URLSearchParams(rest.filter(([, value]) => value !== undefined).map(([name, value]): [string, string] => [name, textOf(value)]))
    : ""
  const response = await fetch(`${url}${target}${fromQuery && rest.length > 0 ? `?${String(query)}` : ""}`, {
    method,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(fromQuery ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(fromQuery ? {} : { body: JSON.stringify(Object.fromEntries(rest)) }),
  })
  const text = await response.text()
  return response.ok ? { status: response.status, code: undefined, text } : answered(response.status, text)
}

async function mcpCall(url: string, operation: AnyOperation, input: Record<string, unknown>, key: string | null): Promise<Answered> {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: toolName(operation), arguments: input } }),
  })
  const text = await response.text()
  const data = /^data: (\{.*)$/m.exec(text)?.[1] ?? text
  const message = JSON.parse(data) as { result?: { isError?: boolean; content: { text: string }[] }; code?: string }
  if (!message.result) return answered(response.status, data)
  const inner = message.result.content[0]?.text ?? ""
  return message.result.isError ? answered(response.status, inner) : { status: response.status, code: undefined, text: inner }
}

function answered(status: number, text: string): Answered {
  return { status, code: codeIn(text), text }
}

/** The code of an error body; undefined for any other text. */
function codeIn(text: string): string | undefined {
  if (!text.startsWith("{")) return undefined
  const body = JSON.parse(text) as { code?: unknown; message?: unknown; details?: unknown }
  return typeof body.code === "string" && typeof body.message === "string" && typeof body.details === "object" ? body.code : undefined
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "")
}
