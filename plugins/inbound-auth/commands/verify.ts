// `millrace pipelines verify`: checks a captured request against a provider's scheme, and prints the verdict with its cause.
import { readFileSync } from "node:fs"
import { z } from "zod"
import { AppError, isRecord, type PluginCommand, type Verdict } from "#core"
import { fieldProblems, notUtf8, utf8Text } from "#core/engine"
import { type CapturedRequest, verifyCaptured } from "../captured.ts"
import { createKeyFetcher } from "../key-fetcher.ts"
import vectors from "../vectors/published.json" with { type: "json" }

const Captured = z.strictObject({
  method: z.string().min(1).optional(),
  url: z.string().min(1).optional(),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  body: z.string().default(""),
})

type Options = Readonly<Record<string, string | boolean | undefined>>
type Result = { readonly text: string; readonly exitCode: number }

export const verifyCommand: PluginCommand = {
  name: "verify",
  group: "pipelines",
  summary: "Verify a captured request and say why it fails; exits with 0 only if it verifies.",
  options: [
    { flags: "--provider <name>", summary: "a provider, hmac_sha256 or shared_secret_header" },
    { flags: "--secret <secret>", summary: "the verification secret, as the provider shows it" },
    { flags: "--request <file>", summary: "JSON { method, url, headers, body }; - reads it from standard input" },
    { flags: "--now <seconds>", summary: "time of arrival in seconds since the epoch; default: now" },
    { flags: "--config <json>", summary: "the rest of auth_config, as JSON" },
    { flags: "--fetch-keys", summary: "fetch keys that the provider publishes, where its scheme needs them" },
    { flags: "--json", summary: "print the verdict as JSON" },
    { flags: "--self-test", summary: "verify every published test vector that ships with the project" },
  ],
  run: (options) => (options["selfTest"] === true ? testVectors(options) : verifyOne(options)),
}

async function testVectors(options: Options): Promise<Result> {
  const results = await selfTest()
  const exitCode = results.length > 0 && results.every(({ ok }) => ok) ? 0 : 1
  if (options["json"] === true) return { text: JSON.stringify({ ok: exitCode === 0, vectors: results }, null, 2), exitCode }
  const lines = results.map(
    ({ ok, provider, source, problem }) =>
      `${ok ? "ok    " : "FAILED"} ${provider.padEnd(18)} ${source}${problem && `\n       ${problem}`}`,
  )
  const good = results.filter(({ ok }) => ok).length
  return { text: [...lines, `${good} of ${results.length} published vectors verify, and all changed vectors fail.`].join("\n"), exitCode }
}

async function verifyOne(options: Options): Promise<Result> {
  const json = options["json"] === true
  try {
    const { provider, secret, request } = {
      provider: text(options, "provider"),
      secret: text(options, "secret"),
      request: text(options, "request"),
    }
    const verdict = await verifyCaptured({
      provider,
      secret,
      request: capturedOf(readRequest(request)),
      now: nowOf(options["now"]),
      config: configOf(options["config"]),
      ...(options["fetchKeys"] === true ? { fetcher: createKeyFetcher() } : {}),
    })
    return { text: json ? JSON.stringify(toResource(verdict), null, 2) : describeVerdict(verdict, provider), exitCode: verdict.ok ? 0 : 1 }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { text: json ? JSON.stringify({ ok: false, cause: error.code, message: error.message }, null, 2) : error.message, exitCode: 2 }
  }
}

function toResource(verdict: Verdict) {
  if (!verdict.ok) return { ok: false, cause: verdict.cause, message: verdict.message }
  const { eventId = null, eventType = null, proof = {} } = verdict
  return { ok: true, cause: "", event_id: eventId, event_type: eventType, proof }
}

function describeVerdict(verdict: Verdict, provider: string): string {
  if (!verdict.ok) return `Not verified (${verdict.cause}).\n${verdict.message}`
  const event = [verdict.eventType && `type ${verdict.eventType}`, verdict.eventId && `id ${verdict.eventId}`].filter(Boolean).join(", ")
  return `Verified: the request is from ${provider}, and the signed parts are unchanged.${event ? ` Event: ${event}.` : ""}`
}

function text(options: Options, name: string): string {
  const value = options[name]
  if (typeof value === "string" && value !== "") return value
  throw invalid(`--${name}`, "is needed (or --self-test alone)")
}

function readRequest(file: string): z.output<typeof Captured> {
  let parsed: unknown
  try {
    const text = utf8Text(readFileSync(file === "-" ? 0 : file))
    if (text === undefined) throw new Error(notUtf8)
    parsed = JSON.parse(text)
  } catch (error) {
    throw invalid("--request", `${file} is not readable as JSON: ${(error as Error).message}`)
  }
  const checked = Captured.safeParse(parsed)
  if (checked.success) return checked.data
  const problems = fieldProblems({ schema: Captured, value: parsed, issues: checked.error.issues })
  const details = problems.map(({ path, message }) => `${path || "(whole)"}: ${message.replace(/\.$/, "")}`).join("; ")
  throw invalid("--request", `${file} is not { method, url, headers, body }: ${details}`)
}

function capturedOf({ method, url, headers, body }: z.output<typeof Captured>): CapturedRequest {
  return { headers, body, ...(method !== undefined && { method }), ...(url !== undefined && { url }) }
}

function nowOf(option: string | boolean | undefined): number {
  if (option === undefined) return Date.now()
  if (typeof option === "string" && /^\d{1,12}(\.\d+)?$/.test(option)) return Number(option) * 1_000
  throw invalid("--now", `"${option}" is not a Unix timestamp in seconds`)
}

function configOf(option: string | boolean | undefined): Record<string, unknown> {
  if (typeof option !== "string") return {}
  try {
    const parsed: unknown = JSON.parse(option)
    if (isRecord(parsed)) return parsed
  } catch {
    // Reported below like any other text that is not an object.
  }
  throw invalid("--config", 'expected a JSON object, such as {"tolerance_s":600}')
}

function invalid(option: string, problem: string): AppError {
  return new AppError("invalid_argument", `${option} ${problem}.`, {
    reason: "invalid_option",
    fields: [{ path: option, message: problem }],
  })
}

/** A signed request published by a provider or its library. `now_s` is the time of the check, or 0 if the time is not signed. */
interface PublishedVector {
  readonly provider: string
  readonly source: string
  readonly url: string
  readonly secret: string
  readonly request: Parameters<typeof verifyCaptured>[0]["request"]
  readonly now_s: number
}

export const publishedVectors: readonly PublishedVector[] = vectors

interface VectorResult {
  readonly provider: string
  readonly source: string
  readonly url: string
  readonly ok: boolean
  /** Description of the problem, or empty. */
  readonly problem: string
}

/** Checks every published vector. Each must verify unchanged, and must fail with a changed body or secret. */
export function selfTest(vectors: readonly PublishedVector[] = publishedVectors): Promise<VectorResult[]> {
  return Promise.all(
    vectors.map(async (vector) => {
      const problem = await problemOf(vector)
      return { provider: vector.provider, source: vector.source, url: vector.url, ok: problem === "", problem }
    }),
  )
}

async function problemOf({ provider, secret, request, now_s }: PublishedVector): Promise<string> {
  const judge = (change: { secret?: string; body?: string }) =>
    verifyCaptured({
      provider,
      secret: change.secret ?? secret,
      request: { ...request, body: change.body ?? request.body },
      now: now_s * 1_000,
    })
  const verdict = await judge({})
  if (!verdict.ok) return `${verdict.cause}: ${verdict.message}`
  if ((await judge({ body: `${request.body}&x=1` })).ok) return "verified with its body changed"
  const otherSecret = secret.replace(/[A-Za-z0-9](?=[^A-Za-z0-9]*$)/, (last) => (last === "A" ? "B" : "A"))
  if ((await judge({ secret: otherSecret })).ok) return "verified with another secret"
  return ""
}
