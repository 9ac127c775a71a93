// What a scheme gets to prepare itself for one pipeline.
import type { VerificationSecret } from "#core"
import type { FirstSeen } from "../checks/once-only.ts"
import type { KeyFetcher } from "../key-fetcher.ts"
import type { ProviderConfig } from "../provider-settings.ts"

export interface SchemeContext {
  /** Live secrets, empty ones already left out. */
  readonly secrets: readonly VerificationSecret[]
  readonly config: SchemeConfig
  readonly fetcher: KeyFetcher
  /** Absent where nothing is remembered from one request to the next. */
  readonly firstSeen?: FirstSeen | undefined
}

type SchemeConfig = Omit<ProviderConfig, "provider">

/** The settings that a signed text may name. */
export function settingsOf(config: SchemeConfig): Readonly<Record<string, string | undefined>> {
  return config.app_key === undefined ? {} : { app_key: config.app_key }
}
