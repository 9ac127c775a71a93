// Agents of an organization, found by key or UUID.
import { isUuid, type Store } from "#core"
import { AgentCollection, type StoredAgent } from "./collections.ts"

export function agentAt(store: Store, organization: string, keyOrId: string): Promise<StoredAgent | undefined> {
  const agents = store.open(AgentCollection, organization)
  return isUuid(keyOrId) ? agents.get(keyOrId) : agents.first({ key: keyOrId })
}
