// The schema of core's settings: names, units and bounds. config.ts reads the values; docs/reference/settings.md shows
// the descriptions.
import { isIP } from "node:net"
import { z } from "zod"
import { token } from "./di.ts"

/** Longer text exceeds the maximum string length of Node. */
const bytes = z.int().min(1).max(268_435_456)
/** With this limit, a payload and its headers fit into a MongoDB document. */
const mongoBodyBytes = 10_485_760
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const days = z.int().min(1).max(36_500)
/** Maximum number of documents in one read of a store. */
const maxRead = 10_000

const addressOrBlock = z.string().refine(isAddressOrBlock, "expected an address or a CIDR block such as 10.0.0.0/8")

/** An origin in the browser's notation. */
const corsOrigin = z
  .string()
  .regex(
    /^(?:\*|[a-z][a-z0-9+.-]*:\/\/[^\sA-Z/?#@]+)$/,
    "expected `*` or an origin such as https://app.example.com, in lower case and without a path",
  )

/** The core's own settings. A plugin's settings are under `plugins.settings.<id>`. Names contain units. */
const Shape = z.strictObject({
  server: z.strictObject({
    host: z.string().min(1).describe("Address to listen on."),
    port: z.int().min(0).max(65_535).describe("Port to listen on; 0 lets the system choose."),
    public_url: z
      .url({ protocol: /^https?$/, error: "expected an http(s) URL" })
      .nullable()
      .describe("Base of inbound URLs, as registered with providers that sign the URL; null: http://HOST:PORT."),
    trust_proxy: z.array(addressOrBlock).describe("Addresses or CIDR blocks of proxies whose X-Forwarded-For is trusted."),
    leave_ms: z
      .int()
      .min(0)
      .max(hourMs)
      .describe(
        "Time for which /readyz answers 503 before a stop closes the port, so that load balancers send no more; events are accepted meanwhile.",
      ),
    drain_ms: z.int().min(0).max(hourMs).describe("Time that a stop waits for events, calls and jobs in flight."),
    cors_origins: z.array(corsOrigin).describe("Origins allowed by CORS for the API and for polling at /live; `*` for any."),
  }),
  workers: z.int().min(1).max(64).describe("Worker processes that share this port, each a node; more than 1 needs MongoDB as storage."),
  data_dir: z.string().min(1).describe("Folder of all data that the service keeps."),
  storage: z.strictObject({
    url: z.string().nullable().describe("URL of a MongoDB replica set (mongodb://…); null: the embedded SQLite file under data_dir."),
  }),
  master_key: z
    .string()
    .nullable()
    .describe("Key that encrypts secrets: 32 bytes in base64 or hex; null: generated once and kept in data_dir (refused in production)."),
  retired_master_keys: z
    .array(z.string())
    .describe("Former master keys, to decrypt what they encrypted; needed until `millrace rotate-master-key` has run."),
  bootstrap_key: z.string().nullable().describe("First admin key, used instead of a generated one; required in production."),
  log: z.strictObject({
    level: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).describe("Minimum level that is logged."),
    format: z
      .enum(["auto", "json", "text"])
      .describe("`json`: one object per line; `text`: for people; `auto`: text on a terminal, JSON otherwise."),
  }),
  plugins: z.strictObject({
    paths: z
      .array(z.string())
      .describe("Folders that contain plugin folders, or names of npm packages, in addition to the shipped plugins."),
    settings: z.record(z.string(), z.unknown()).describe("Settings of plugins, by plugin id."),
  }),
  pipelines: z.strictObject({
    paths: z.array(z.string()).describe("Folders of pipeline files that are applied at start."),
    watch: z.boolean().describe("Re-apply a pipeline file when it changes; for development."),
  }),
  inbound: z.strictObject({
    max_body_bytes: bytes.describe("Maximum body size of an inbound event."),
    geo: z
      .enum(["none", "cloudflare", "vercel", "cloudfront", "fastly"])
      .describe("CDN whose geography headers are trusted; without that CDN in front of the service, clients can forge them."),
    max_in_flight: z.int().min(1).describe("Maximum events in flight; beyond it, events are answered 429."),
    max_in_flight_per_organization: z.int().min(1).describe("Maximum events in flight of one organization."),
    max_in_flight_per_pipeline: z.int().min(1).describe("Maximum events in flight of one pipeline."),
    rejected_entries_per_minute: z
      .int()
      .min(0)
      .describe("Rejected events of one pipeline per minute that get a journal entry each; further ones are counted in one entry."),
  }),
  sandbox: z.strictObject({
    processes: z.int().min(1).max(64).describe("Processes that run transforms and schemas."),
    memory_mb: z.int().min(8).max(1_024).describe("Memory limit of one pipeline's isolate."),
    timeout_ms: z
      .int()
      .min(1)
      .max(10_000)
      .describe("CPU time limit of a transform, and 1 ms more for each 8,192 characters of the event. Waiting for the CPU does not count."),
    hard_deadline_ms: z
      .int()
      .min(10)
      .max(60_000)
      .describe("CPU time after which an unresponsive process is killed; it is also killed after twelve times that in wall time."),
    max_isolates: z.int().min(1).describe("Maximum isolates in one process; the least recently used is evicted first."),
    max_process_mb: z.int().min(64).describe("Maximum resident memory of one process; a larger one is replaced between events."),
  }),
  jobs: z.strictObject({
    concurrency: z
      .int()
      .min(1)
      .max(1_000)
      .describe(
        "Jobs of one type that this node runs at once. Also deferred steps of one type of action that run at once for one destination of an organization.",
      ),
    lease_ms: z.int().min(100).max(dayMs).describe("Duration of a job's lease; another node may take the job once it has expired."),
    poll_ms: z.int().min(10).max(hourMs).describe("Interval between polls for due jobs."),
  }),
  live: z.strictObject({
    keep_ms: z
      .int()
      .min(0)
      .max(366 * dayMs)
      .describe("Retention of live messages, for clients that reconnect."),
    keep_messages: z.int().min(0).max(maxRead).describe("Maximum live messages kept per channel."),
    sockets_per_key: z.int().min(1).describe("Maximum sockets per API key or token on one node."),
    anonymous_per_address: z.int().min(0).describe("Maximum sockets without a credential per client IP."),
  }),
  retention: z.strictObject({
    entries_days: days.describe("Retention of journal entries."),
    payloads_days: days.describe("Retention of payloads, for replay, and of what journal entries hold of them."),
    audit_days: days.describe("Retention of audit records, from the time of the change."),
  }),
  metrics: z.strictObject({
    token: z
      .string()
      .min(16)
      .nullable()
      .describe(
        "Bearer token required by /metrics; null: the service's port answers requests from this machine, in production no requests.",
      ),
    port: z.int().min(1).max(65_535).nullable().describe("Separate port for /metrics; null: the service's port."),
    host: z.string().min(1).describe("Address that metrics.port listens on."),
  }),
  rate_limits: z.strictObject({
    key_per_minute: z.int().min(1).describe("API calls allowed per key per minute, on each node and worker."),
    organization_per_minute: z.int().min(1).describe("API calls allowed per organization per minute, on each node and worker."),
    address_per_minute: z.int().min(1).describe("Unauthenticated requests allowed per client IP per minute, on each node and worker."),
  }),
  outgoing: z.strictObject({
    allow_hosts: z.array(z.string()).describe("Hosts (or host:port) with private addresses that outgoing calls may reach."),
    timeout_ms: z.int().min(10).max(hourMs).describe("Timeout of an outgoing call."),
    max_response_bytes: bytes.describe("Maximum response size of an outgoing call."),
  }),
})

/** Refuses settings that are valid alone but cannot work together. */
export const CoreConfig = Shape.superRefine(({ sandbox, storage, inbound }, context) => {
  const refuse = (path: string[], message: string) => context.addIssue({ code: "custom", path, message })
  if (sandbox.hard_deadline_ms < sandbox.timeout_ms)
    refuse(["sandbox", "hard_deadline_ms"], `must be at least sandbox.timeout_ms, which is ${sandbox.timeout_ms}`)
  if (sandbox.max_process_mb < sandbox.memory_mb)
    refuse(["sandbox", "max_process_mb"], `must be at least sandbox.memory_mb, which is ${sandbox.memory_mb}`)
  if (storage.url && inbound.max_body_bytes > mongoBodyBytes)
    refuse(["inbound", "max_body_bytes"], `must be at most ${mongoBodyBytes} with MongoDB, whose documents have at most 16 MB`)
})
export type CoreConfig = z.infer<typeof CoreConfig> & {
  /** Dotted paths of settings with an unset variable. Empty in a service, since a service requires all variables. */
  readonly unset?: readonly string[]
}

/** The effective settings, validated. */
export const Settings = token<CoreConfig>("Settings")

function isAddressOrBlock(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/")
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}
