// Live messages, which are told once what they tell of is kept: a reader may have seen that before.
import type { Broadcast, TestHost } from "#core/testing"
import { until } from "./waiting.ts"

/** Those of a channel, or some of them, once there are so many. */
export function broadcastsOf(
  host: TestHost,
  channel: string,
  count: number,
  isMeant: (broadcast: Broadcast) => boolean = () => true,
): Promise<readonly Broadcast[]> {
  return until(`${count} live messages of ${channel}`, async () => {
    const broadcasts = (await host.broadcasts(channel)).filter(isMeant)
    return broadcasts.length >= count && broadcasts
  })
}
