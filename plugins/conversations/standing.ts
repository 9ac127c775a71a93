// How a person stands to a channel, for who asks before anything is to be sent: the newest word on opting out, and quiet hours.
import { type Store, token } from "#core"
import { type Channel, collections } from "./channels.ts"
import { loudAt } from "./egress/quiet-hours.ts"
import type { OptOutEntry } from "./opt-out/ledger.ts"
import type { ConversationSettings } from "./settings.ts"

export interface ConversationStanding {
  /** The entry that the channel's gate obeys; undefined where there is none. */
  newestOptOut(organization: string, channel: Channel, address: string): Promise<OptOutEntry | undefined>
  /** When it is not quiet for the number; the time itself where it is not. Milliseconds since the epoch. */
  loudAt(address: string, now: number): number
}

export const ConversationStanding = token<ConversationStanding>("ConversationStanding")

export function conversationStanding(store: Store, settings: ConversationSettings): ConversationStanding {
  return {
    async newestOptOut(organization, channel, address) {
      const { ledger } = collections[channel]
      const found = await store.open(ledger, organization).find({ address }, { sort: { at: -1, id: -1 }, limit: 20 })
      // Of two at one time, the opt-out holds.
      return found.find(({ at, kind }) => at === found[0]?.at && kind === "opt_out") ?? found[0]
    },
    loudAt: (address, now) => loudAt(address, now, settings),
  }
}
