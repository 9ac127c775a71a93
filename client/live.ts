// `millrace/live`: only live updates, for pages without calls.
export { ClientError } from "../core/client/error.ts"
export { connectLive } from "../core/client/live.ts"
export type { Live, LiveFilter, LiveMessage, LiveOptions, SubscribeOptions, Subscription } from "../core/client/live-types.ts"
