// Calls of a running service by a plugin's command: which service, chosen as for every command, and its operations by name.
import { type CallByName, createCaller } from "../client/caller.ts"
import { ClientError } from "../client/error.ts"
import type { AnyOperation } from "../contract/operation.ts"
import { CommandProblem } from "../kernel/command.ts"
import type { Terminal } from "../kernel/terminal.ts"
import { clientRoutes } from "./client-operations.ts"
import { describeError, exitCodeOf } from "./operations/problem.ts"
import { ownService } from "./own-service.ts"
import { type ChosenTarget, targetLine, targetOf } from "./profiles.ts"

/** What `serviceOptions` give. */
export interface ServiceOptions {
  readonly url?: string
  readonly key?: string
  readonly profile?: string
  readonly organization?: string
}

/** Says on standard error which service it is. Throws CommandProblem without a key for it. */
export async function chosenTarget(options: ServiceOptions, dataDir: string, { env, stderr }: Terminal): Promise<ChosenTarget> {
  const given = { ...(options.url && { MILLRACE_URL: options.url }), ...(options.key && { MILLRACE_KEY: options.key }) }
  const target = targetOf({ ...env, ...given }, { ...options, own: await ownService(dataDir) })
  stderr.write(`${targetLine(target)}\n`)
  return target
}

/** Calls throw CommandProblem, with the exit code of the error. */
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
