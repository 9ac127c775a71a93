// What is wrong with a setting, in the words an operator needs: its path, where it came from, the value unless it is
// a secret, and what would do. The core's settings and those of plugins are refused in the same words.
import type { z } from "zod"
import { didYouMean } from "./guess.ts"
import { knownFields } from "./known-fields.ts"
import { isSecretName } from "./secret-names.ts"

export interface Checked {
  readonly schema: z.core.$ZodType
  /** What was checked, as it was given. */
  readonly value: unknown
  readonly issues: readonly z.core.$ZodIssue[]
  /** Where the value stands in the configuration, as dotted path; empty for all of it. */
  readonly at: string
  /** ` (from …)`, or nothing where it is not known. */
  readonly from?: (path: string) => string
}

/** One line a problem. */
export function settingProblems({ schema, value, issues, at, from = () => "" }: Checked): string[] {
  return issues.flatMap((issue) => {
    const path = joined(at, issue.path)
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => {
        const full = joined(path, [key])
        return `${full}${from(full)} is not a setting.${didYouMean(key, knownFields(schema, issue.path))}`
      })
    }
    const given = inside(value, issue.path)
    const why = issue.message.charAt(0).toLowerCase() + issue.message.slice(1)
    if (given === undefined) return [`${path} is missing: ${why}.`]
    return [`${path}${from(path)} cannot be ${shownSetting(path, given)}: ${why}.`]
  })
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

function joined(at: string, path: readonly PropertyKey[]): string {
  return [...(at === "" ? [] : [at]), ...path.map(String)].join(".")
}

function inside(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined),
    value,
  )
}
