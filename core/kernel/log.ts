// Logs: pino, one JSON object a line on stdout, with the request id and organization that the caller binds. Secrets are
// cut by path, so that an object logged by mistake does not carry one out.
import pino, { type Logger as PinoLogger } from "pino"
import { token } from "./di.ts"

export type Logger = PinoLogger

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
  "x-webhook-secret",
] as const

const depths = ["", "*.", "*.*.", "*.*.*."]

export function createLog(level: string, destination?: { write(line: string): void }): Logger {
  const paths = secretNames.flatMap((name) => depths.map((depth) => `${depth}["${name}"]`.replace(".[", "[")))
  const options = { level, redact: { paths, censor: "[redacted]" }, base: {}, timestamp: pino.stdTimeFunctions.isoTime }
  return destination ? pino(options, destination) : pino(options)
}
