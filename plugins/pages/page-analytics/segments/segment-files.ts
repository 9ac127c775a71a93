// Files of segments. The bucket has them by organization and day, `<organization>/page-events/day=2026-11-20/<id>.parquet`, with
// a list of the live files, so any Parquet engine can read them. Queries need them on this node's disk: a folder bucket is read
// in place, and files from S3 are cached, each file as a whole.
import { createWriteStream } from "node:fs"
import { mkdir, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { AppError, type Ids } from "#core"
import type { Buckets } from "../../../data/buckets/index.ts"
import type { Segment } from "../collections.ts"

export interface SegmentFilesDeps {
  readonly buckets: Buckets
  readonly ids: Ids
  /** `<data_dir>/page-analytics`. */
  readonly folder: string
  readonly cacheBytes: number
}

const folder = "page-events/"

/** The bucket was reachable, but lacks a file listed in a copy. */
export class SegmentMissing extends AppError {
  readonly segment: Segment

  constructor(segment: Segment) {
    const message = "A file of the copy of the events is missing. If it was deleted, the copy is rebuilt from the dataset; retry later."
    super("unavailable", message, { reason: "segment_missing" }, { retryAfterS: 10 })
    this.segment = segment
  }
}

export class SegmentFiles {
  readonly #deps: SegmentFilesDeps
  readonly #fetching = new Map<string, Promise<string>>()

  constructor(deps: SegmentFilesDeps) {
    this.#deps = deps
  }

  /** Deletes drafts of dead processes. Drafts of other workers are in progress and stay. */
  async start(): Promise<void> {
    const all = join(this.#deps.folder, "drafts")
    for (const name of await readdir(all).catch(() => []))
      if (Number(name) === process.pid || !isAlive(Number(name))) await rm(join(all, name), { recursive: true, force: true })
    await mkdir(this.#drafts, { recursive: true, mode: 0o700 })
  }

  get #drafts(): string {
    return join(this.#deps.folder, "drafts", String(process.pid))
  }

  /** Returns a path for a new file. */
  draft(ending: string): string {
    return join(this.#drafts, `${this.#deps.ids.uuid()}.${ending}`)
  }

  keyOf(day: string, id: string): string {
    return `${folder}day=${day}/${id}.parquet`
  }

  /** Moves a draft into the bucket. Durable when the promise resolves. */
  async store(organization: string, key: string, draft: string): Promise<void> {
    const bucket = this.#deps.buckets.open(organization)
    await bucket.put(key, await readFile(draft))
    if (bucket.fileOf(key) !== undefined) return rm(draft, { force: true })
    const cached = this.#cached(organization, key)
    await mkdir(dirname(cached), { recursive: true, mode: 0o700 })
    await rename(draft, cached)
  }

  /** Replaces the organization's list of live files, `live.json`. File names are relative to the list. */
  async list(organization: string, segments: readonly Segment[]): Promise<void> {
    const ordered = [...segments].sort((a, b) => (a.day + a.first_at < b.day + b.first_at ? -1 : 1))
    const files = ordered.map(({ key, day, rows, bytes }) => ({ file: key.slice(folder.length), day, rows, bytes }))
    await this.#deps.buckets.open(organization).put(`${folder}live.json`, Buffer.from(JSON.stringify(files)))
  }

  async remove(organization: string, key: string): Promise<void> {
    await this.#deps.buckets.open(organization).remove(key)
    await rm(this.#cached(organization, key), { force: true })
  }

  /** Returns paths on this node and fetches missing files. In a folder bucket, files are not checked. Throws SegmentMissing. */
  async local(organization: string, segments: readonly Segment[]): Promise<string[]> {
    const paths: string[] = []
    for (let first = 0; first < segments.length; first += 8) {
      paths.push(...(await Promise.all(segments.slice(first, first + 8).map((segment) => this.#local(organization, segment)))))
    }
    return paths
  }

  /** Throws SegmentMissing if the bucket lacks one of the files, and `unavailable` if the bucket is unreachable. */
  async require(organization: string, segments: readonly Segment[]): Promise<void> {
    const bucket = this.#deps.buckets.open(organization)
    for (const segment of segments) {
      const object = await bucket.get(segment.key)
      if (!object) throw new SegmentMissing(segment)
      for await (const _ of object.chunks) break
    }
  }

  async #local(organization: string, segment: Segment): Promise<string> {
    const { key } = segment
    const inPlace = this.#deps.buckets.open(organization).fileOf(key)
    if (inPlace !== undefined) return inPlace
    const path = this.#cached(organization, key)
    const now = new Date()
    // Also marks the file as used, for the eviction below.
    if (
      await utimes(path, now, now).then(
        () => true,
        () => false,
      )
    )
      return path
    const fetching = this.#fetching.get(path) ?? this.#fetch(organization, segment, path).finally(() => this.#fetching.delete(path))
    this.#fetching.set(path, fetching)
    return fetching
  }

  async #fetch(organization: string, segment: Segment, path: string): Promise<string> {
    const object = await this.#deps.buckets.open(organization).get(segment.key)
    if (!object) throw new SegmentMissing(segment)
    const draft = this.draft("parquet")
    await pipeline(Readable.from(object.chunks), createWriteStream(draft, { mode: 0o600 }))
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await rename(draft, path)
    return path
  }

  #cached(organization: string, key: string): string {
    return join(this.#deps.folder, "cache", organization, key)
  }

  /** Shrinks the cache to its size. Files used in the last minutes stay: a query may be about to open them. */
  async evict(now: number, graceMs: number): Promise<void> {
    const root = join(this.#deps.folder, "cache")
    const names = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
    const files = await Promise.all(
      names
        .filter((entry) => entry.isFile())
        .map(async (entry) => {
          const path = join(entry.parentPath, entry.name)
          const stats = await stat(path).catch(() => undefined)
          return { path, size: stats?.size ?? 0, used: stats?.mtimeMs ?? 0 }
        }),
    )
    let total = files.reduce((sum, { size }) => sum + size, 0)
    for (const { path, size, used } of files.sort((a, b) => a.used - b.used)) {
      if (total <= this.#deps.cacheBytes || now - used < graceMs) return
      await rm(path, { force: true })
      total -= size
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}
