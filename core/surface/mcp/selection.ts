// The query of an MCP URL: `tools` selects toolsets, `read_only` leaves out every tool that changes something.
import { AppError } from "../../kernel/errors.ts"

/** Toolsets beside the areas. `default` is the list without a query, `search` the five tools that find and call others. */
export const namedToolsets = ["default", "search", "all"] as const

export interface Selection {
  /** Names of toolsets or tools; undefined selects the default list. */
  readonly toolsets: readonly string[] | undefined
  readonly readOnly: boolean
}

const maxToolsets = 100

/** Throws `invalid_argument` for other parameters or values. */
export function selectionOf(url: string): Selection {
  const query = new URL(url, "http://localhost").searchParams
  for (const name of query.keys())
    if (name !== "tools" && name !== "read_only")
      throw invalid(name, `The URL of MCP takes the parameters "tools" and "read_only"; "${name}" is neither.`)
  const given = query.get("read_only")
  if (given !== null && !["true", "false"].includes(given))
    throw invalid("read_only", `"read_only" is "${given}"; write "true" or "false".`)
  const names = query.getAll("tools").flatMap((value) => value.split(","))
  const toolsets = [...new Set(names.map((name) => name.trim().toLowerCase().replaceAll("-", "_")).filter((name) => name !== ""))].sort()
  if (toolsets.length > maxToolsets) throw invalid("tools", `"tools" names ${toolsets.length} toolsets; name ${maxToolsets} at most.`)
  return { toolsets: toolsets.length > 0 ? toolsets : undefined, readOnly: given === "true" }
}

function invalid(path: string, message: string): AppError {
  return new AppError("invalid_argument", message, { reason: "invalid_fields", fields: [{ path, message }] })
}
