// A running service, called over REST with a key. The address and key come from options, a profile, or the local service's
// data/bootstrap.json. Every command prints the chosen service.
import { AppError, CommandProblem, slugOf } from "#core"
import { chosenTarget, parsedJson, type ServiceOptions, type Target, type Terminal } from "#core/commands"
import type { ErrorCode, ErrorDetails, PipelineDocument } from "#core/engine"

export type RemoteOptions = ServiceOptions

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
  readonly organization: string | undefined

  constructor({ url, key, organization }: Target) {
    this.url = url.replace(/\/+$/, "")
    this.key = key
    this.organization = organization
  }

  /**
   * Throws the AppError of the service, or `unavailable` without a response. Throws CommandProblem if the response is not from a
   * Millrace service: not an object, or without the field `has`.
   */
  async call<T extends object>(method: string, path: string, body?: unknown, has?: keyof T & string): Promise<T> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.key}` }
    if (body !== undefined) headers["content-type"] = "application/json"
    if (this.organization !== undefined) headers["x-organization-id"] = this.organization
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const response = await fetch(this.url + path, init).catch(this.#unreachable)
    const answer = objectOf(await response.text().catch(this.#unreachable))
    if (response.ok) {
      if (answer !== undefined && (has === undefined || has in answer)) return answer as T
      throw new CommandProblem(`${this.url} does not respond like a Millrace service (${method} ${path}): is the address right?`, 2)
    }
    const { code, message, details } = (answer ?? {}) as { code?: ErrorCode; message?: string; details?: ErrorDetails }
    const hint = code === "unauthenticated" ? " Run `millrace login`, or set MILLRACE_KEY." : ""
    throw AppError.from({
      code: code ?? "unknown",
      message: `${message ?? `${this.url} answered ${response.status}.`}${hint}`,
      details: details ?? { reason: "unrecognized_response" },
    })
  }

  /** Throws AppError `unavailable` if the service does not respond. */
  async reach(): Promise<void> {
    const response = await fetch(`${this.url}/healthz`).catch(this.#unreachable)
    await response.body?.cancel()
  }

  readonly #unreachable = (error: unknown): never => {
    throw new AppError("unavailable", `${this.url} cannot be reached (${causeOf(error)}). Is the service running?`, {
      reason: "no_response",
    })
  }

  payload(slug: string, execution: string): Promise<KeptPayload> {
    const path = `/v1/event-pipelines/${encodeURIComponent(slug)}/executions/${encodeURIComponent(execution)}/payload`
    return this.call<KeptPayload>("GET", path, undefined, "headers")
  }

  execution(slug: string, execution: string): Promise<Record<string, unknown>> {
    return this.call("GET", `/v1/event-pipelines/${encodeURIComponent(slug)}/executions/${encodeURIComponent(execution)}`)
  }

  /** Yields all executions, newest first, and reads pages on demand. */
  async *executions(slug: string): AsyncGenerator<ExecutionSummary> {
    let cursor = ""
    do {
      const query = new URLSearchParams({ limit: "200", ...(cursor === "" ? {} : { cursor }) })
      const path = `/v1/event-pipelines/${encodeURIComponent(slug)}/executions?${query.toString()}`
      const page = await this.call<{ executions: ExecutionSummary[]; next_cursor: string }>("GET", path, undefined, "executions")
      yield* page.executions
      cursor = page.next_cursor
    } while (cursor !== "")
  }
}

/** Prints the chosen service on standard error. Throws CommandProblem without a key for it. */
export async function openRemote(options: RemoteOptions, dataDir: string, terminal: Terminal): Promise<Remote> {
  return new Remote(await chosenTarget(options, dataDir, terminal))
}

export function slugOfDocument({ slug, name }: Pick<PipelineDocument, "slug" | "name">): string {
  return slug ?? slugOf(name, "pipeline")
}

function causeOf(error: unknown): string {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause
  return cause?.code ?? cause?.message ?? (error as Error).message
}

function objectOf(text: string): object | undefined {
  const value = parsedJson(text)
  return typeof value === "object" && value !== null ? value : undefined
}
