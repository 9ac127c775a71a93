// Errors of commands for people, with an exit code for each kind of error.
import type { ClientError } from "../../client/error.ts"
import type { ErrorCode } from "../../kernel/errors.ts"
import { harmless } from "../../kernel/terminal.ts"

/** Exit codes by error code. 0 is success, 1 a local problem. */
export const exitCodeOf: Readonly<Record<ErrorCode, number>> = {
  invalid_argument: 2,
  failed_precondition: 2,
  out_of_range: 2,
  unauthenticated: 3,
  permission_denied: 3,
  not_found: 4,
  already_exists: 5,
  aborted: 5,
  resource_exhausted: 6,
  unavailable: 7,
  deadline_exceeded: 7,
  internal: 8,
  unknown: 8,
  data_loss: 8,
  unimplemented: 8,
  canceled: 130,
}

export const exitCodesHelp = `
Exit codes: 0 done; 1 the command line, a file or a profile; 2 input refused; 3 key or rights; 4 not found;
5 conflict; 6 too much or too often; 7 not reachable, or too late: try again; 8 a failure of the service; 130 interrupted.`

export interface Flags {
  readonly flagOf: (field: string) => string | undefined
  /** Returns the flag of a list field. The flag is repeated for each element. */
  readonly listFlagOf: (field: string) => string | undefined
}

/** Returns the lines for standard error. */
export function describeError(error: ClientError, { flagOf, listFlagOf }: Flags): string {
  const fields = (error.details.fields ?? []).map(({ path, message }) => {
    const [top = ""] = path.split(".")
    const flag = path === top ? flagOf(top) : undefined
    const list = path === top ? undefined : listFlagOf(top)
    return `  ${flag ?? path}: ${list === undefined ? message : `${message.replace(/\.$/, "")}. One value per flag: ${list} … ${list} ….`}`
  })
  const findings = findingsOf(error.details["findings"])
  const head = fields.length > 0 ? `The input is not valid (${error.code}).` : `${error.message} (${error.code})`
  const hint = hintOf(error)
  const quote = error.requestId && (exitCodeOf[error.code] ?? 8) === 8 ? [`Request id: ${error.requestId}`] : []
  return harmless([head, ...fields, ...findings, ...(hint ? [hint] : []), ...quote].join("\n"))
}

/** Findings of a refused pipeline, with their places. */
function findingsOf(findings: unknown): string[] {
  if (!Array.isArray(findings)) return []
  return (findings as Record<string, unknown>[]).map(
    ({ level, pointer, message, rule }) => `  ${level} at ${pointer || "/"}: ${message} (${rule})`,
  )
}

function hintOf({ code, details, retryAfterS }: ClientError): string | undefined {
  if (code === "unauthenticated") return "Run `millrace login`, or set MILLRACE_KEY."
  if (details.reason === "no_response") return "Is the service running there? MILLRACE_URL or the profile says where it is."
  if (retryAfterS !== undefined) return `Try again in ${retryAfterS} s.`
  return undefined
}

/** For programs: the service's error format. */
export function errorAsJson(error: ClientError): string {
  const { code, message, details, requestId } = error
  return JSON.stringify({ code, message, details, ...(requestId ? { request_id: requestId } : {}) })
}

/** The same format for local problems. */
export function problemAsJson(message: string, exitCode = 1): string {
  const code: ErrorCode = exitCode === exitCodeOf.unauthenticated ? "unauthenticated" : "invalid_argument"
  return JSON.stringify({ code, message, details: { reason: "command_line" } })
}
