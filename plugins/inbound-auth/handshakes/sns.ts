// Amazon SNS asks for a subscription to be confirmed by fetching an address. The message is verified against its
// certificate first, which takes a fetch itself; so the answer is given at once, and the confirmation follows.
import { Refused } from "../request/refusal.ts"
import { emptyAnswer, isPost, singleHeader } from "./answer.ts"
import type { Handshake, HandshakeContext } from "./handshake.ts"

const confirmAddress = /^https:\/\/sns\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?\/\?Action=ConfirmSubscription&[\w=&%.:+/-]+$/

let underway = 0
const maxUnderway = 4

export const snsSubscription: Handshake = (context) => {
  const { view } = context
  if (!isPost(view) || singleHeader(view, "x-amz-sns-message-type") !== "SubscriptionConfirmation") return undefined
  if (view.body("Type")[0] !== "SubscriptionConfirmation" || view.body("TopicArn")[0] !== context.config.topic_arn) return undefined
  if (underway >= maxUnderway) return emptyAnswer(503)
  underway += 1
  confirm(context)
    .then(
      () => context.note(`The subscription to ${context.config.topic_arn} is confirmed.`),
      (error: unknown) => context.note(`The subscription to ${context.config.topic_arn} was not confirmed: ${reason(error)}`),
    )
    .finally(() => {
      underway -= 1
    })
  return emptyAnswer(200)
}

async function confirm({ match, view, fetcher }: HandshakeContext): Promise<void> {
  await match(view)
  const [address = ""] = view.body("SubscribeURL")
  if (!confirmAddress.test(address)) throw new Refused("foreign_address", "SubscribeURL is not an address of Amazon SNS.")
  await fetcher.get(address)
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : "unknown reason"
}
