// Live messages. A message is sent once its subject is stored, and a reader may see the subject earlier.
import type { Broadcast, TestHost } from "#core/testing"
import { until } from "./waiting.ts"

/** Waits for `count` messages of a channel and returns them. */
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
