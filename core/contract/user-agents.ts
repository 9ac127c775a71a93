// What a User-Agent header says of the device and the browser. A plugin knows how to read it; without one, nothing is said.
import { token } from "../kernel/di.ts"

/** Coarse on purpose; "" means no signal. */
export interface UserAgentClass {
  /** `mobile`, `tablet`, `desktop`, or "". */
  readonly device_type: string
  /** `chrome`, `safari`, `firefox`, `edge`, `samsung`, `opera`, `other`, or "". */
  readonly browser: string
  /** Lower-case name of the app whose webview it is, or "" for a standalone browser. */
  readonly in_app: string
}

/** No signal at all. */
export const noUserAgent: UserAgentClass = { device_type: "", browser: "", in_app: "" }

/** Classifies the text of a User-Agent header. */
export type UserAgents = (agent: string) => UserAgentClass
export const UserAgents = token<UserAgents>("UserAgents")
