// Calls an operation as the operator of this folder's service: through the running service, or on the store of a stopped service.
// The master key proves the operator's identity.
import type { Runtime } from "../bootstrap/runtime.ts"
import { createCaller } from "../client/caller.ts"
import { ClientError } from "../client/error.ts"
import type { Fields } from "../client/route.ts"
import type { AnyOperation } from "../contract/operation.ts"
import { drawOperatorCredential, operatorPurpose } from "../contract/operator.ts"
import { CommandProblem } from "../kernel/command.ts"
import { BootError, type CoreConfig } from "../kernel/config.ts"
import type { Key, TokenRecord } from "../kernel/di.ts"
import { AppError } from "../kernel/errors.ts"
import { createLog } from "../kernel/log.ts"
import type { Terminal } from "../kernel/terminal.ts"
import { Vault } from "../kernel/vault.ts"
import { clientRoute } from "./client-operations.ts"
import { answers, ownService } from "./own-service.ts"

export interface OperatorPlace {
  readonly config: CoreConfig
  readonly root: string
  readonly terminal: Terminal
}

/** Throws ClientError. Throws CommandProblem if neither the service nor its store is available. */
export async function callAsOperator({ config, root, terminal }: OperatorPlace, operation: AnyOperation, input: Fields): Promise<unknown> {
  // Imported here: only this command needs a service of its own.
  const { buildRuntime } = await import("../bootstrap/runtime.ts")
  const log = createLog("error", { write: (line) => void terminal.stderr.write(line) })
  const runtime = await buildRuntime({ config, root, log, serve: false, warmSandbox: false })
  const credential = drawOperatorCredential(runtime.container.get(Vault).keyFor(operatorPurpose), operation.name, Date.now())
  const url = await runningAt(config)
  if (url === undefined) return await onStore(runtime, operation, input, credential)
  const { name } = operation
  try {
    return await createCaller({ [name]: clientRoute(operation) }, { baseUrl: url, key: credential })(name, input)
  } catch (error) {
    // Another service uses the address.
    if (!(error instanceof ClientError && error.code === "unauthenticated")) throw error
    return await onStore(runtime, operation, input, credential)
  }
}

async function runningAt({ data_dir, server }: CoreConfig): Promise<string | undefined> {
  const own = await ownService(data_dir)
  if (own?.runs) return own.url
  const host = ["0.0.0.0", "::", ""].includes(server.host) ? "127.0.0.1" : server.host
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${server.port}`
  return server.port > 0 && (await answers(url)) ? url : undefined
}

/** Starts the services of the operation only: no job, schedule or listener. */
async function onStore({ container, log }: Runtime, operation: AnyOperation, input: Fields, bearer: string): Promise<unknown> {
  const { CheckedMasterKey } = await import("../bootstrap/storage.ts")
  const { Invoker } = await import("../surface/invoke.ts")
  const injected: Key<unknown>[] = Object.values((operation.inject ?? {}) as TokenRecord)
  const needed = container.neededBy([CheckedMasterKey, Invoker, ...injected])
  const started: typeof needed = []
  try {
    for (const service of needed) {
      started.unshift(service)
      await service.start()
    }
    const credentials = { bearer, organization: undefined, surface: "rest", requestId: "operator", log } as const
    const answer = await container.get(Invoker).invoke(operation, input, credentials)
    return answer.kind === "json" ? answer.body : undefined
  } catch (error) {
    if (error instanceof AppError) throw new ClientError(error.code, error.message, error.details)
    if (error instanceof BootError) throw error
    // A running service locks the embedded file. The message names the file and the remedy.
    throw new CommandProblem(error instanceof Error ? error.message : String(error))
  } finally {
    for (const service of started) await service.stop()
  }
}
