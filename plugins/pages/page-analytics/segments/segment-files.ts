// Where segments are: in the bucket, by organization and day, `<organization>/page-events/day=2026-11-20/<id>.parquet`,
// with a list of those that are live, so that any engine that reads Parquet has them; and on this node's disk, where
// queries need them. A bucket that is a folder is read in place; what comes from S3 is kept in a cache, each file whole or
// not at all.
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

/** The bucket was reached, and does not have a file that a copy lists. */
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

  /** Drafts of a process that died are of no use to anyone; those of other workers are being written. */
  async start(): Promise<void> {
    const all = join(this.#deps.folder, "drafts")
    for (const name of await readdir(all).catch(() => []))
      if (Number(name) === process.pid || !isAlive(Number(name))) await rm(join(all, name), { recursive: true, force: true })
    await mkdir(this.#drafts, { recursive: true, mode: 0o700 })
  }

  get #drafts(): string {
    return join(this.#deps.folder, "drafts", String(process.pid))
  }

  /** A path for a file that is being made. */
  draft(ending: string): string {
    return join(this.#drafts, `${this.#deps.ids.uuid()}.${ending}`)
  }

  keyOf(day: string, id: string): string {
    return `${folder}day=${day}/${id}.parquet`
  }

  /** Moves a draft to where it belongs; durable when it resolves. */
  async store(organization: string, key: string, draft: string): Promise<void> {
    const bucket = this.#deps.buckets.open(organization)
    await bucket.put(key, await readFile(draft))
    if (bucket.fileOf(key) !== undefined) return rm(draft, { force: true })
    const cached = this.#cached(organization, key)
    await mkdir(dirname(cached), { recursive: true, mode: 0o700 })
    await rename(draft, cached)
  }

  /** Replaces the organization's list of live files, `live.json`; each is named from where the list is. */
  async list(organization: string, segments: readonly Segment[]): Promise<void> {
    const ordered = [...segments].sort((a, b) => (a.day + a.first_at < b.day + b.first_at ? -1 : 1))
    const files = ordered.map(({ key, day, rows, bytes }) => ({ file: key.slice(folder.length), day, rows, bytes }))
    await this.#deps.buckets.open(organization).put(`${folder}live.json`, Buffer.from(JSON.stringify(files)))
  }

  async remove(organization: string, key: string): Promise<void> {
    await this.#deps.buckets.open(organization).remove(key)
    await rm(this.#cached(organization, key), { force: true })
  }

  /** Paths on this node, fetched where they are not there. Those of a bucket that is a folder are not looked at. Throws SegmentMissing. */
  async local(organization: string, segments: readonly Segment[]): Promise<string[]> {
    const paths: string[] = []
    for (let first = 0; first < segments.length; first += 8) {
      paths.push(...(await Promise.all(segments.slice(first, first + 8).map((segment) => this.#local(organization, segment)))))
    }
    return paths
  }

  /** Throws SegmentMissing where the bucket does not have one of the files, and `unavailable` where it cannot be asked. */
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
    // Also says that it was used, to the eviction below.
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

  /** Brings the cache down to its size. Files used in the last minutes stay: a query may be about to open them. */
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
