// Reads a version: fetches a URL, decodes short text directly, and extracts other text in a separate process. Errors of the
// document end the version. Errors of the transport are retried.
import { AppError, type Deps, OutgoingHttp, Store, type UnitOfWork } from "#core"
import { type ItemType, KnowledgeToken, type StoredVersion, UploadCollection } from "../collections.ts"
import type { Read } from "../knowledge.ts"
import type { KnowledgeSettings } from "../settings.ts"
import { Uploads } from "../uploads/uploads.ts"
import { tooLong } from "./read-html.ts"
import { readInProcess } from "./read-process.ts"
import { maxTextBytes, readText } from "./read-text.ts"

/** Texts up to this size are read directly, which is cheaper than a process. */
const maxBytesReadHere = 65_536

export interface ReadingDeps extends Deps<typeof Reading.inject> {
  readonly settings: KnowledgeSettings
}

type Fetched = { readonly type: ItemType; readonly pieces: readonly Uint8Array[]; readonly charset?: string } | Extract<Read, { ok: false }>

export class Reading {
  static readonly inject = { store: Store, http: OutgoingHttp, knowledge: KnowledgeToken, uploads: Uploads }
  readonly #deps: ReadingDeps

  constructor(deps: ReadingDeps) {
    this.#deps = deps
  }

  /** Stages the result. `last`: a retryable error ends the version. */
  async read(
    work: UnitOfWork,
    organization: string,
    id: string,
    number: number,
    options: { signal: AbortSignal; last: boolean },
  ): Promise<void> {
    const { knowledge } = this.#deps
    const [item, version] = [await knowledge.find(organization, id), await knowledge.version(organization, id, number)]
    if (!item || version?.content_state !== "pending") return
    await knowledge.keep(work, organization, item, version, await this.#outcome(organization, version, options))
  }

  /** Stages a failure of the version because of an internal error. */
  async giveUp(work: UnitOfWork, organization: string, id: string, number: number): Promise<void> {
    const { knowledge } = this.#deps
    const [item, version] = [await knowledge.find(organization, id), await knowledge.version(organization, id, number)]
    if (!item || version?.content_state !== "pending") return
    const failed: Read = { ok: false, reason: "internal", message: "The document could not be read because of an internal error." }
    await knowledge.keep(work, organization, item, version, failed)
  }

  async #outcome(organization: string, version: StoredVersion, { signal, last }: { signal: AbortSignal; last: boolean }): Promise<Read> {
    try {
      const fetched =
        version.source_url === "" ? await this.#uploaded(organization, version) : await this.#fetched(organization, version, signal)
      return "ok" in fetched ? fetched : await this.#text(fetched)
    } catch (error) {
      if (!(error instanceof AppError) || (!last && error.details["retryable"] !== false && passing.has(error.code))) throw error
      return { ok: false, reason: error.details.reason ?? error.code, message: error.message }
    }
  }

  async #uploaded(organization: string, { id, type, upload_id }: StoredVersion): Promise<Fetched> {
    if (upload_id !== undefined) return { type, pieces: await this.#deps.uploads.pieces(organization, upload_id) }
    const upload = await this.#deps.store.open(UploadCollection, organization).get(id)
    return { type, pieces: [Buffer.from(upload?.base64 ?? "", "base64")] }
  }

  async #fetched(organization: string, { source_url, type }: StoredVersion, signal: AbortSignal): Promise<Fetched> {
    const { http, settings } = this.#deps
    const answer = await http.fetch({ url: source_url, organization, signal, maxFileBytes: settings.max_fetched_bytes })
    const { status, headers, bytes = new Uint8Array() } = answer
    if (status >= 500 || status === 429 || status === 408)
      throw new AppError("unavailable", `${source_url} answered ${status}.`, { reason: "receiver_unavailable", status })
    if (status !== 200) return { ok: false, reason: "url_status", message: `${source_url} answered ${status}.` }
    const contentType = (headers["content-type"] ?? "").toLowerCase()
    const [mediaType = ""] = contentType.split(";", 1)
    const mediaKind = typeOf(mediaType.trim(), new URL(source_url).pathname)
    if (mediaKind === undefined) return { ok: false, reason: "unsupported_type", message: `${source_url} is ${mediaType || "of no type"}.` }
    return {
      type: mediaKind === "text" && type === "markdown" ? type : mediaKind,
      pieces: [bytes],
      charset: charsetOf(contentType),
    }
  }

  /** Long texts use a separate process, because they cost as much as HTML and PDF. */
  async #text({ type, pieces, charset = "utf-8" }: Exclude<Fetched, { ok: false }>): Promise<Read> {
    const { max_characters, max_pages, read_memory_mb, read_timeout_ms } = this.#deps.settings
    const isText = type === "text" || type === "markdown"
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
    const isTooLong = bytes > maxTextBytes(max_characters)
    const task = { type: isText ? "text" : type, charset, maxCharacters: max_characters, maxPages: max_pages } as const
    const limits = { memoryMb: read_memory_mb, deadlineMs: read_timeout_ms }
    const readHere = () => (isTooLong ? tooLong(max_characters) : readText(Buffer.concat(pieces), charset, max_characters))
    const isReadHere = isText && (isTooLong || bytes <= maxBytesReadHere)
    const outcome = isReadHere ? readHere() : await readInProcess(task, pieces, limits)
    if (outcome.kind === "fault") return { ok: false, reason: outcome.fault, message: outcome.message }
    return { ok: true, type, title: outcome.title, text: outcome.text, bytes }
  }
}

const passing: ReadonlySet<string> = new Set(["unavailable", "deadline_exceeded", "resource_exhausted", "aborted"])

function charsetOf(contentType: string): string {
  return /charset="?([\w-]+)/.exec(contentType)?.[1] ?? "utf-8"
}

function typeOf(mediaType: string, path: string): ItemType | undefined {
  if (mediaType === "application/pdf") return "pdf"
  if (mediaType === "text/html" || mediaType === "application/xhtml+xml") return "html"
  if (mediaType === "text/markdown" || (/\.(?:md|markdown)$/i.test(path) && mediaType.startsWith("text/"))) return "markdown"
  if (mediaType.startsWith("text/")) return "text"
  return mediaType === "application/octet-stream" && /\.pdf$/i.test(path) ? "pdf" : undefined
}
