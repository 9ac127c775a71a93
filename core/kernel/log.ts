// Logs: pino, one JSON object a line on stdout, with the request id and organization that the caller binds. Secrets are
// cut by field name at any depth, so that an object logged by mistake does not carry one out.
import pino, { type Logger as PinoLogger } from "pino"
import { token } from "./di.ts"

/** A logger, as pino has it. */
export type Logger = PinoLogger

/** The service's log. Values of fields named like secrets are cut; texts are not, so put none into one. */
export const Log = token<Logger>("Log")

/** Field names whose values never leave the process in clear: in logs, previews and printed configuration alike. */
export const secretNames = [
  "authorization",
  "cookie",
  "set-cookie",
  "password",
  "secret",
  "token",
  "credentials",
  "api_key",
  "admin_key",
  "bootstrap_key",
  "master_key",
  "access_token",
  "refresh_token",
  "private_key",
  "client_secret",
  "secret_access_key",
  "x-webhook-secret",
  "verify_token",
] as const

/** Compared without regard to case, dashes and underscores, so that `X-Api-Key` and `apiKey` are `api_key`. */
const secretEnding =
  /(?:authorization|cookies?|passwords?|passwd|passphrase|secrets?|token|credentials|signature|(?:access|account|admin|api|auth|bootstrap|encryption|master|private|secret|service|signing|webhook)keys?)$/
/** Whole words only: other words end so too. */
const secretLastWord = /(?:^|[-_. ])(?:[a-z]+[-_. ]auth|jwt|pwd|x-?auth)$/
const known = new Map<string, boolean>()

/** Whether a field or header of this name holds a secret: `x-api-key`, `x-custom-auth`, `webhook_token`; not `author`, `token_count`, `secret_id`. */
export function isSecretName(name: string): boolean {
  const before = known.get(name)
  if (before !== undefined) return before
  const words = name.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase()
  const secret = secretEnding.test(words.replaceAll(/[-_. ]/g, "")) || secretLastWord.test(words)
  // Names come from outside as well: what is remembered has an end.
  if (known.size >= 2_000) known.clear()
  known.set(name, secret)
  return secret
}

const deepest = 6

export function createLog(level: string, destination?: { write(line: string): void }): Logger {
  const options = {
    level,
    base: {},
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: (error: unknown) => withoutSecrets(serialized(error), 0) },
    formatters: { log: cutEach },
  }
  const log: Logger = pino(options, destination ?? standardOutput())
  // pino does not format what a child is bound to. Children inherit from their parent, this method too.
  const { child } = log
  log.child = function (this: Logger, bindings: object, given?: object) {
    return child.call(this, cutEach({ ...bindings }), given)
  } as Logger["child"]
  return log
}

/** `err` is left to its serializer. */
function cutEach(logged: Record<string, unknown>): Record<string, unknown> {
  const { err, ...rest } = logged
  const cut = withoutSecrets(rest, 0) as Record<string, unknown>
  return err === undefined ? cut : { ...cut, err }
}

/** Where lines cannot be written, on a full disk say, they wait within bounds, and the service goes on without them. */
function standardOutput(): ReturnType<typeof pino.destination> {
  const output = pino.destination({ dest: 1, sync: false, maxLength: 1_048_576 })
  const flush = output.flushSync.bind(output)
  // At the end of the process it would be tried for ever.
  output.on("error", () => {
    output.flushSync = () => undefined
  })
  output.on("drain", () => {
    output.flushSync = flush
  })
  return output
}

/** A copy: pino's own redaction goes by lists of paths, which cost 70 to 200 µs a line here and know one case of a name. */
function withoutSecrets(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value
  if ("toJSON" in value) return value
  if (depth >= deepest) return "[deeper]"
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, depth + 1))
  const out: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value instanceof Error ? serialized(value) : value)) {
    out[key] = isSecretName(key) && inner !== undefined ? "[redacted]" : withoutSecrets(inner, depth + 1)
  }
  return out
}

/** Message, type and stack of an error, its causes and its own fields; anything else as it is. */
function serialized(error: unknown): object {
  return error instanceof Error ? { ...pino.stdSerializers.err(error) } : { value: error }
}
