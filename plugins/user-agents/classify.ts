// Device, browser family and in-app container from a User-Agent. Coarse on purpose (specification 2.11 names the values);
// "" means no signal. Results are remembered, since few agents make most of the traffic.
import { noUserAgent, type UserAgentClass } from "#core/engine"
import { browserOf } from "./browser.ts"
import { deviceOf } from "./device.ts"
import { inAppOf } from "./in-app.ts"

const maxRemembered = 4_096
const remembered = new Map<string, UserAgentClass>()

/** Device type, browser and in-app browser of a `User-Agent` header. */
export function classifyUserAgent(agent: string): UserAgentClass {
  if (agent === "") return noUserAgent
  const known = remembered.get(agent)
  if (known) return known
  // Beyond any honest length the text is only there to cost time.
  const text = agent.slice(0, 1_024)
  const classified = { device_type: deviceOf(text), browser: browserOf(text), in_app: inAppOf(text) }
  if (remembered.size >= maxRemembered) remembered.clear()
  remembered.set(agent, classified)
  return classified
}
