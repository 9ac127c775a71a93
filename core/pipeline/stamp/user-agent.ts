// Device, browser family and in-app container from a User-Agent. Coarse on purpose (specification 2.11 names the values);
// "" means no signal. Results are remembered, since few agents make most of the traffic.
import { browserOf } from "./agent/browser.ts"
import { deviceOf } from "./agent/device.ts"
import { inAppOf } from "./agent/in-app.ts"

export interface UserAgentClass {
  /** `mobile`, `tablet`, `desktop`, or "". */
  readonly device_type: string
  /** `chrome`, `safari`, `firefox`, `edge`, `samsung`, `opera`, `other`, or "". */
  readonly browser: string
  /** Lower-case name of the app whose webview it is, or "" for a standalone browser. */
  readonly in_app: string
}

const maxRemembered = 4_096
const remembered = new Map<string, UserAgentClass>()
const nothing: UserAgentClass = { device_type: "", browser: "", in_app: "" }

/** Device type, browser and in-app browser of a `User-Agent` header. */
export function classifyUserAgent(agent: string): UserAgentClass {
  if (agent === "") return nothing
  const known = remembered.get(agent)
  if (known) return known
  // Beyond any honest length the text is only there to cost time.
  const text = agent.slice(0, 1_024)
  const classified = { device_type: deviceOf(text), browser: browserOf(text), in_app: inAppOf(text) }
  if (remembered.size >= maxRemembered) remembered.clear()
  remembered.set(agent, classified)
  return classified
}
