// docs/reference/auth-modes.md: every auth mode with its `auth_config`.
import type { AnyAuthMode } from "../../contract/auth-mode.ts"
import { byName, fieldsOf, fieldTable, generatedNote } from "../markdown.ts"

export function authModesReference(modes: readonly AnyAuthMode[]): string {
  const sections = byName(modes, ({ mode }) => mode).flatMap((mode) => [
    `## ${mode.mode}`,
    [mode.summary, mode.description].filter(Boolean).join(" "),
    fieldTable(fieldsOf(mode.config)),
  ])
  return `${[
    generatedNote("the auth modes' declarations"),
    "# Auth modes",
    "How a pipeline's inbound events prove where they come from: `auth_mode`, and the fields of `auth_config` that go with it. The verification secret itself (`auth_config.secret`) is kept apart, encrypted; in files it is `{ from_env: NAME }`.",
    ...sections,
  ].join("\n\n")}\n`
}
