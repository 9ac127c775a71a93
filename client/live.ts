// `millrace/live`: live updates alone, for pages that call nothing.
export { ClientError } from "../core/client/error.ts"
export { connectLive } from "../core/client/live.ts"
export type { Live, LiveFilter, LiveMessage, LiveOptions, SubscribeOptions, Subscription } from "../core/client/live-types.ts"
