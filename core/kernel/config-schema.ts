// The core's own settings, as a schema: what an operator can set, in which units, within which bounds. Where values
// come from is config.ts's business; the descriptions are what docs/reference/settings.md shows.
import { isIP } from "node:net"
import { z } from "zod"
import { token } from "./di.ts"

const bytes = z.int().min(1)
const milliseconds = z.int().min(0)

const addressOrBlock = z.string().refine(isAddressOrBlock, "no address, nor a CIDR block such as 10.0.0.0/8")

/** The core's own settings; a plugin's stand under `plugins.settings.<id>`. Units are in the names. */
export const CoreConfig = z.strictObject({
  server: z.strictObject({
    host: z.string().min(1).describe("Address to listen on."),
    port: z.int().min(0).max(65_535).describe("Port to listen on; 0 lets the system choose."),
    public_url: z
      .url({ protocol: /^https?$/, error: "no http(s) URL" })
      .nullable()
      .describe("Base of inbound URLs, and what providers signed that sign the URL; null: http://HOST:PORT."),
    trust_proxy: z.array(addressOrBlock).describe("Addresses or CIDR blocks of proxies whose X-Forwarded-For counts."),
    drain_ms: milliseconds.describe("How long a stop waits for what is under way."),
    cors_origins: z.array(z.string()).describe("Origins that browsers may call the API from, and use polling at /live; `*` for any."),
  }),
  workers: z.int().min(1).max(64).describe("Processes that serve this port, each an ordinary node; more than 1 needs MongoDB as storage."),
  data_dir: z.string().min(1).describe("Folder for everything that the service keeps."),
  storage: z.strictObject({
    url: z.string().nullable().describe("mongodb://… of a replica set; null: the embedded SQLite file under data_dir."),
  }),
  master_key: z
    .string()
    .nullable()
    .describe("32 bytes in base64 or hex that seal secrets; null: drawn once and kept in data_dir (refused in production)."),
  retired_master_keys: z
    .array(z.string())
    .describe("Master keys of before, by commas: they open what they sealed. Needed only until `millrace rotate-master-key` has run."),
  bootstrap_key: z.string().nullable().describe("First admin key, given instead of drawn; needed in production."),
  log: z.strictObject({
    level: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).describe("Least level that is logged."),
  }),
  plugins: z.strictObject({
    paths: z.array(z.string()).describe("Folders of plugin folders, or names of npm packages, beside what ships."),
    settings: z.record(z.string(), z.unknown()).describe("Settings of plugins, under their ids."),
  }),
  pipelines: z.strictObject({
    paths: z.array(z.string()).describe("Folders of pipeline files, applied at start."),
    watch: z.boolean().describe("Apply a pipeline file again when it changes; for development."),
  }),
  inbound: z.strictObject({
    max_body_bytes: bytes.describe("Largest body of an inbound event."),
    geo: z
      .enum(["none", "cloudflare", "vercel", "cloudfront", "fastly"])
      .describe("Edge whose geography headers are believed; they can be forged where no such edge stands in front."),
    max_in_flight: z.int().min(1).describe("Events under way at once before more are answered 429."),
    max_in_flight_per_organization: z.int().min(1).describe("The same, of one organization."),
    max_in_flight_per_pipeline: z.int().min(1).describe("The same, of one pipeline."),
    rejected_entries_per_minute: z
      .int()
      .min(0)
      .describe("Rejections of one pipeline in one minute that get a journal entry of their own; further ones fold into one."),
  }),
  sandbox: z.strictObject({
    processes: z.int().min(1).max(64).describe("Processes that run transforms and schemas."),
    memory_mb: z.int().min(8).max(1_024).describe("Memory of one pipeline's isolate."),
    timeout_ms: z.int().min(1).max(10_000).describe("Time a transform has; what it waits for the processor is not held against it."),
    hard_deadline_ms: z
      .int()
      .min(10)
      .max(60_000)
      .describe("Processor time after which a process that does not answer is killed; after twelve times that of any time it is, too."),
    max_isolates: z.int().min(1).describe("Isolates kept at once in one process; the least recently used one goes first."),
    max_process_mb: z.int().min(64).describe("Resident memory of one process; one that has grown past it is replaced between events."),
  }),
  jobs: z.strictObject({
    concurrency: z.int().min(1).describe("Jobs that this node runs at once."),
    lease_ms: milliseconds.describe("How long a node holds a job before another may take it."),
    poll_ms: milliseconds.describe("How often due jobs are looked for."),
  }),
  live: z.strictObject({
    keep_ms: milliseconds.describe("How long live messages are kept for clients that catch up."),
    keep_messages: z.int().min(0).describe("How many of a channel are kept."),
    sockets_per_key: z.int().min(1).describe("Sockets that one API key or token may hold at once on a node."),
    anonymous_per_address: z.int().min(0).describe("Sockets without a credential that one address may hold at once."),
  }),
  retention: z.strictObject({
    entries_days: z.int().min(1).describe("How long journal entries are kept."),
    payloads_days: z.int().min(1).describe("How long payloads are kept for replay."),
    audit_days: z.int().min(1).max(36_500).describe("How long the audit log keeps a record of a change, from when it was made."),
  }),
  metrics: z.strictObject({
    token: z
      .string()
      .min(16)
      .nullable()
      .describe("Bearer token that /metrics asks for; null: on the service's port only requests from this machine are answered."),
    port: z
      .int()
      .min(1)
      .max(65_535)
      .nullable()
      .describe("Port of its own for /metrics, which then is not on the service's; null: the service's port."),
    host: z.string().min(1).describe("Address that metrics.port is on."),
  }),
  rate_limits: z.strictObject({
    key_per_minute: z.int().min(1).describe("Calls of the API that one key has a minute."),
    organization_per_minute: z.int().min(1).describe("Calls of the API that one organization has a minute."),
    address_per_minute: z
      .int()
      .min(1)
      .describe("Calls without a credential that holds (refused ones, open documents) that one address has a minute."),
  }),
  outgoing: z.strictObject({
    allow_hosts: z.array(z.string()).describe("Hosts (or host:port) that outgoing calls may reach though their addresses are private."),
    timeout_ms: milliseconds.describe("Deadline of an outgoing call."),
    max_response_bytes: bytes.describe("Largest answer of an outgoing call."),
  }),
})
export type CoreConfig = z.infer<typeof CoreConfig>

/** The settings that hold, checked. */
export const Settings = token<CoreConfig>("Settings")

function isAddressOrBlock(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/")
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}
