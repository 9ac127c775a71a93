// The core's own settings, as a schema: what an operator can set, in which units, within which bounds. Where values
// come from is config.ts's business.
import { z } from "zod"
import { token } from "./di.ts"

const bytes = z.int().min(1)
const milliseconds = z.int().min(0)

/** The core's own settings; a plugin's stand under `plugins.settings.<id>`. Units are in the names. */
export const CoreConfig = z.strictObject({
  server: z.strictObject({
    host: z.string().min(1),
    port: z.int().min(0).max(65_535),
    /** Base of inbound URLs and what URL-signing providers signed; null: http://HOST:PORT. */
    public_url: z.url().nullable(),
    /** Addresses or CIDR blocks of proxies whose X-Forwarded-For counts. */
    trust_proxy: z.array(z.string()),
    /** Milliseconds that a stop waits for what is under way. */
    drain_ms: milliseconds,
    /** Origins that browsers may call the API from; `*` for any. */
    cors_origins: z.array(z.string()),
  }),
  data_dir: z.string().min(1),
  /** null: the embedded SQLite file under data_dir. */
  storage: z.strictObject({ url: z.string().nullable() }),
  /** 32 bytes in base64 or hex; null: drawn once and kept in data_dir (refused in production). */
  master_key: z.string().nullable(),
  /** First admin key, given instead of drawn. */
  bootstrap_key: z.string().nullable(),
  log: z.strictObject({ level: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]) }),
  plugins: z.strictObject({
    /** Folders of plugin folders, or npm package names. */
    paths: z.array(z.string()),
    settings: z.record(z.string(), z.unknown()),
  }),
  pipelines: z.strictObject({ paths: z.array(z.string()) }),
  inbound: z.strictObject({
    max_body_bytes: bytes,
    /** Which edge's geography headers are believed; they can be forged where no such edge stands in front. */
    geo: z.enum(["none", "cloudflare", "vercel", "cloudfront", "fastly"]),
    /** Events under way at once before more are answered 503. */
    max_in_flight: z.int().min(1),
    /** Rejections a pipeline and minute that get an entry of their own; further ones fold. */
    rejected_entries_per_minute: z.int().min(0),
  }),
  sandbox: z.strictObject({
    processes: z.int().min(1).max(64),
    memory_mb: z.int().min(8).max(1_024),
    timeout_ms: z.int().min(1).max(10_000),
    /** At which the child is killed. */
    hard_deadline_ms: z.int().min(10).max(60_000),
    max_isolates: z.int().min(1),
  }),
  jobs: z.strictObject({ concurrency: z.int().min(1), lease_ms: milliseconds, poll_ms: milliseconds }),
  live: z.strictObject({ keep_ms: milliseconds, keep_messages: z.int().min(0) }),
  retention: z.strictObject({ entries_days: z.int().min(1), payloads_days: z.int().min(1) }),
  rate_limits: z.strictObject({ key_per_minute: z.int().min(1), organization_per_minute: z.int().min(1) }),
  /** Hosts (or host:port) that outgoing calls may reach though their addresses are private. */
  outgoing: z.strictObject({ allow_hosts: z.array(z.string()), timeout_ms: milliseconds, max_response_bytes: bytes }),
})
export type CoreConfig = z.infer<typeof CoreConfig>

export const Settings = token<CoreConfig>("Settings")
