// A running service as these commands use it: over REST, with a key. The key is given, or in MILLRACE_KEY, or it is that
// of the local service (data/bootstrap.json).
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Command } from "commander"
import { slugOf } from "../../contract/fields.ts"
import { BootError } from "../../kernel/config.ts"
import { AppError, type ErrorCode, type ErrorDetails } from "../../kernel/errors.ts"
import type { PipelineDocument } from "../../pipeline/document.ts"

export interface RemoteOptions {
  readonly url?: string
  readonly key?: string
  readonly organization?: string
}

export function addRemoteOptions(command: Command): Command {
  return command
    .option("--url <url>", "the service; MILLRACE_URL, or the local one")
    .option("--key <key>", "an API key; MILLRACE_KEY, or that of the local service")
    .option("--organization <slug>", "the organization; MILLRACE_ORGANIZATION, or the key's own")
}

export interface ExecutionSummary {
  readonly id: string
  readonly pipeline_slug: string
  readonly status: string
  readonly cause: string
  readonly received_at: string
  readonly is_test: boolean
  readonly replay_of: string | null
  readonly repeat_of: string | null
  readonly response: { readonly status: number; readonly body: string } | null
  readonly error: { readonly message: string } | null
}

export interface KeptPayload {
  /** JSON text. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string | readonly string[]>>
  readonly received_at: string
  readonly event_id: string | null
  readonly event_type: string | null
}

export class Remote {
  readonly url: string
  readonly key: string
  readonly #organization: string | undefined

  constructor(url: string, key: string, organization: string | undefined) {
    this.url = url.replace(/\/+$/, "")
    this.key = key
    this.#organization = organization
  }

  /** Throws AppError as the service said, or `unavailable` where there is none. */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.key}` }
    if (body !== undefined) headers["content-type"] = "application/json"
    if (this.#organization !== undefined) headers["x-organization-id"] = this.#organization
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const response = await fetch(this.url + path, init).catch((error: unknown) => {
      throw new AppError("unavailable", `${this.url} cannot be reached (${causeOf(error)}). Is the service running?`)
    })
    const answer = (await response.json().catch(() => ({}))) as { code?: ErrorCode; message?: string; details?: ErrorDetails }
    if (response.ok) return answer as T
    throw new AppError(answer.code ?? "unknown", answer.message ?? `${this.url} answered ${response.status}.`, answer.details ?? {})
  }

  payload(slug: string, execution: string): Promise<KeptPayload> {
    return this.call("GET", `/v1/event-pipelines/${encodeURIComponent(slug)}/executions/${encodeURIComponent(execution)}/payload`)
  }

  execution(slug: string, execution: string): Promise<Record<string, unknown>> {
    return this.call("GET", `/v1/event-pipelines/${encodeURIComponent(slug)}/executions/${encodeURIComponent(execution)}`)
  }

  /** All there are, newest first, read as they are asked for. */
  async *executions(slug: string): AsyncGenerator<ExecutionSummary> {
    let cursor = ""
    do {
      const query = new URLSearchParams({ limit: "200", ...(cursor === "" ? {} : { cursor }) })
      const path = `/v1/event-pipelines/${encodeURIComponent(slug)}/executions?${query.toString()}`
      const page = await this.call<{ executions: ExecutionSummary[]; next_cursor: string }>("GET", path)
      yield* page.executions
      cursor = page.next_cursor
    } while (cursor !== "")
  }
}

export function openRemote(options: RemoteOptions, dataDir: string): Remote {
  const local = localService(dataDir)
  const url = options.url ?? process.env["MILLRACE_URL"] ?? local?.base_url
  const key = options.key ?? process.env["MILLRACE_KEY"] ?? local?.admin_key
  const problems: string[] = []
  if (!url) problems.push("Which service? Give --url, set MILLRACE_URL, or start one here.")
  if (!key) problems.push("A key is needed: give --key or set MILLRACE_KEY.")
  if (!url || !key) throw new BootError(problems)
  return new Remote(url, key, options.organization ?? (process.env["MILLRACE_ORGANIZATION"] || undefined))
}

function localService(dataDir: string): { base_url?: string; admin_key?: string } | undefined {
  const file = join(dataDir, "bootstrap.json")
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as { base_url?: string; admin_key?: string }) : undefined
}

export function slugOfDocument({ slug, name }: Pick<PipelineDocument, "slug" | "name">): string {
  return slug ?? slugOf(name)
}

function causeOf(error: unknown): string {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause
  return cause?.code ?? cause?.message ?? (error as Error).message
}
