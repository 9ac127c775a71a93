// What is wrong with a setting, in the words an operator needs: its path, where it came from, the value unless it is
// a secret, and what would do. The core's settings and those of plugins are refused in the same words.

import { valueAt } from "./json.ts"
import { isSecretName } from "./secret-names.ts"
import { dotted, type RefusedValue, zodProblems } from "./zod-problems.ts"

export interface RefusedSettings extends RefusedValue {
  /** Where the value stands in the configuration, as dotted path; empty for all of it. */
  readonly at: string
  /** ` (from …)`, or nothing where it is not known. */
  readonly from?: (path: string) => string
}

/** One line a problem. */
export function settingProblems({ at, from = () => "", ...refused }: RefusedSettings): string[] {
  const { problems, count } = zodProblems(refused)
  const lines = problems.map(({ kind, path, message, hint }) => {
    const name = dotted(at === "" ? path : [at, ...path])
    if (kind === "missing") return `${name} is missing. ${message}`
    if (kind === "unknown") return `${name}${from(name)} is not a setting.${hint}`
    return `${name}${from(name)} cannot be ${shownSetting(name, valueAt(refused.value, path))}: ${message}`
  })
  return count > lines.length ? [...lines, `${count - lines.length} more settings are refused.`] : lines
}

/** A value as it may be printed: secrets are only said to be set, and credentials in URLs are cut. */
export function shownSetting(path: string, value: unknown): string {
  if (value === null || value === undefined) return "null"
  if (isSecretName(path.split(".").at(-1) ?? "")) return "[set]"
  return JSON.stringify(value, (key, inner: unknown) => {
    if (isSecretName(key) && inner !== null) return "[set]"
    return typeof inner === "string" ? inner.replace(/\/\/[^/\s]*@/g, "//[set]@") : inner
  })
}
