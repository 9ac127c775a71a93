// `millrace/client`: a client of the shipped operations, typed by their schemas. For Node and browsers.
import type { ClientOptions } from "../core/client/caller.ts"
import { createClient, type Client as OperationsClient } from "../core/client/client.ts"
import { type Operations, routes } from "./operations.generated.ts"

export type { ClientStream } from "../core/client/answer.ts"
export type { ClientOptions } from "../core/client/caller.ts"
/** For other sets of plugins: `createClient<Operations & Mine>({ ...routes, ...mine }, options)`. */
export { createClient } from "../core/client/client.ts"
export { ClientError } from "../core/client/error.ts"
export type { Live, LiveFilter, LiveMessage, LiveOptions, SubscribeOptions, Subscription } from "../core/client/live-types.ts"
export type { RetryPolicy } from "../core/client/retry.ts"
export type { ClientRoute } from "../core/client/route.ts"
export type { CallOptions, InputOf, OperationMap, OutputOf } from "../core/client/shape.ts"
export type { ErrorCode, ErrorDetails, FieldProblem } from "../core/kernel/errors.ts"
export { type Operations, routes } from "./operations.generated.ts"

/** A client of the shipped operations. Each is a method of its area (`client.datasets.listRows`). */
export type Client = OperationsClient<Operations>

/** Creates a client of one service, with its own key. */
export function millrace(options: ClientOptions): Client {
  return createClient<Operations>(routes, options)
}
