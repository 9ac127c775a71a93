// The service of this folder: address and key from its first start, and its running state.
import { existsSync } from "node:fs"
import { join } from "node:path"
import { z } from "zod"
import { type CallByName, createCaller } from "../client/caller.ts"
import { ClientError } from "../client/error.ts"
import type { AnyOperation } from "../contract/operation.ts"
import { CommandProblem } from "../kernel/command.ts"
import type { Terminal } from "../kernel/terminal.ts"
import { clientRoutes } from "./client-operations.ts"
import { readGiven } from "./given-file.ts"
import { describeError, exitCodeOf } from "./operations/problem.ts"
import { type ChosenTarget, type OwnService, targetLine, targetOf } from "./profiles.ts"

/** A slower service counts as busy. */
const answerMs = 1_000

export async function ownService(dataDir: string): Promise<OwnService | undefined> {
  const file = join(dataDir, "bootstrap.json")
  if (!existsSync(file)) return undefined
  const { base_url, admin_key } = firstStart(file)
  return { url: base_url, key: admin_key, runs: await answers(base_url) }
}

/** Returns true if a service responds or is busy. */
export async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(answerMs) })
    await response.body?.cancel()
    return true
  } catch (error) {
    return (error as Error).name === "TimeoutError"
  }
}

// Contents of the first start's file in the data folder: the service's address and the owner's key.

const FirstStart = z.object({ base_url: z.string(), admin_key: z.string() })

/** Throws CommandProblem if the file is unreadable or invalid. */
export function firstStart(file: string): z.infer<typeof FirstStart> {
  const text = readGiven(file).toString("utf8")
  try {
    return FirstStart.parse(JSON.parse(text))
  } catch {
    throw new CommandProblem(`${file} does not hold what a first start writes (base_url and admin_key).`)
  }
}

// Calls of a running service by a plugin's command. Chooses the service like every command, and calls operations by name.

/** Values of `serviceOptions`. */
export interface ServiceOptions {
  readonly url?: string
  readonly key?: string
  readonly profile?: string
  readonly organization?: string
}

/** Writes the chosen service to standard error. Throws CommandProblem without a key for the service. */
export async function chosenTarget(options: ServiceOptions, dataDir: string, { env, stderr }: Terminal): Promise<ChosenTarget> {
  const given = { ...(options.url && { MILLRACE_URL: options.url }), ...(options.key && { MILLRACE_KEY: options.key }) }
  const target = targetOf({ ...env, ...given }, { ...options, own: await ownService(dataDir) })
  stderr.write(`${targetLine(target)}\n`)
  return target
}

/** Calls throw CommandProblem with the exit code of the error. */
export function serviceCalls(operations: readonly AnyOperation[], { url, key, organization }: ChosenTarget): CallByName {
  const call = createCaller(clientRoutes(operations), { baseUrl: url, key, organization })
  return async (name, input, options) => {
    try {
      return await call(name, input, options)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      throw new CommandProblem(describeError(error, { flagOf: () => undefined, listFlagOf: () => undefined }), exitCodeOf[error.code] ?? 8)
    }
  }
}
