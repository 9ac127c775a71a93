// `millrace/live`: live updates alone, for pages that call nothing.
export { ClientError } from "../core/client/error.ts"
export {
  connectLive,
  type Live,
  type LiveFilter,
  type LiveMessage,
  type LiveOptions,
  type SubscribeOptions,
  type Subscription,
} from "../core/client/live.ts"
