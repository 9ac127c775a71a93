// The tools of the service, and the view of one connection: tools allowed by the credential and selected by the URL. Lists are
// built once for each distinct view and cached as text.
import type { Tool } from "@modelcontextprotocol/server"
import type { AnyCaller } from "../../contract/caller.ts"
import type { AnyOperation } from "../../contract/operation.ts"
import { AppError } from "../../kernel/errors.ts"
import { isAuthorised } from "../call/authorise.ts"
import { areaOf } from "../openapi/operation-entry.ts"
import { callToolNames, callToolsOf } from "./call-tools.ts"
import { isListed, type OperationTool, toolsOf } from "./tools.ts"

/** Maximum size of a `tools/list` page: 20,000 tokens of four characters. */
const maxPageChars = 80_000
const maxKeptViews = 64

export interface ToolPage {
  readonly tools: readonly Tool[]
  /** The same tools as JSON. */
  readonly text: string
}

/** The tools of one connection. */
export interface ToolView {
  readonly pages: readonly ToolPage[]
  /** Operations offered by the URL and permitted for the credential, by tool name. */
  readonly tools: ReadonlyMap<string, OperationTool>
  /** Tools for finding and calling other tools. A call tool without callable tools is not listed. It refuses like the operation. */
  readonly callTools: ReadonlySet<string>
  /** Finds an offered operation by tool or operation name, even if the credential may not call it. */
  find(name: string): OperationTool | undefined
}

export class ToolCatalog {
  readonly #tools: ReadonlyMap<string, OperationTool>
  readonly #areas: readonly string[]
  readonly #kept = new Map<string, ToolView>()

  constructor(operations: readonly AnyOperation[]) {
    this.#tools = new Map([...toolsOf(operations)].sort(([left], [right]) => (left < right ? -1 : 1)))
    this.#areas = [...new Set([...this.#tools.values()].map(({ operation }) => areaOf(operation)))].sort()
  }

  /** Throws `invalid_argument` for an unknown toolset. */
  view(caller: AnyCaller, selection: Selection): ToolView {
    const { role, scopes, user } = caller
    const key = JSON.stringify([role, user?.staff === true, scopes ? [...scopes].sort() : "*", selection])
    const view = this.#kept.get(key) ?? this.#made(caller, selection)
    this.#kept.delete(key)
    this.#kept.set(key, view)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > maxKeptViews && oldest !== undefined) this.#kept.delete(oldest)
    return view
  }

  #made(caller: AnyCaller, { toolsets, readOnly }: Selection): ToolView {
    const sets = toolsets ?? ["default"]
    for (const set of sets) this.#require(set)
    const hasCallTools = sets.includes("default") || sets.includes("search")
    const isIn = (name: string, operation: AnyOperation) => sets.some((set) => this.#includes(set, name, operation))
    const all = [...this.#tools].filter(([, { operation }]) => !readOnly || operation.hints.readOnly)
    // The call tools reach every operation, so the URL offers all operations.
    const offered = hasCallTools ? all : all.filter(([name, { operation }]) => isIn(name, operation))
    const tools = new Map(offered.filter(([, { operation }]) => isAuthorised(operation.access, caller)))
    const listed = [...tools].filter(([name, { operation }]) => isIn(name, operation)).map(([, tool]) => tool)
    const calling = hasCallTools ? callToolsOf([...tools.values()]) : []
    const found = new Map(offered)
    return {
      pages: pagesOf([...calling.map((tool) => ({ tool, text: JSON.stringify(tool) })), ...listed]),
      tools,
      callTools: new Set(hasCallTools ? callToolNames(readOnly) : []),
      find: (name) => found.get(name.replaceAll(".", "_")),
    }
  }

  #includes(set: string, name: string, operation: AnyOperation): boolean {
    if (set === "all" || set === name) return true
    if (set === "default") return isListed(operation)
    return areaMatches(areaOf(operation), set)
  }

  #require(set: string): void {
    if ((namedToolsets as readonly string[]).includes(set) || this.#tools.has(set) || this.#areas.some((area) => areaMatches(area, set)))
      return
    const toolsets = [...namedToolsets, ...this.#areas]
    throw new AppError(
      "invalid_argument",
      `The toolset "${set}" does not exist. Toolsets are ${toolsets.join(", ")}, and the name of each tool.`,
      {
        reason: "unknown_toolset",
        toolset: set,
        toolsets,
      },
    )
  }
}

/** `pipelines` selects `event_pipelines`; `conversations` selects each area of conversations. */
function areaMatches(area: string, set: string): boolean {
  return area === set || area.endsWith(`_${set}`)
}

function pagesOf(tools: readonly Pick<OperationTool, "tool" | "text">[]): ToolPage[] {
  const pages: { tools: Tool[]; texts: string[]; chars: number }[] = []
  for (const { tool, text } of tools) {
    const last = pages.at(-1)
    const isFull = !last || (last.tools.length > 0 && last.chars + text.length > maxPageChars)
    const page = isFull ? { tools: [], texts: [], chars: 0 } : last
    if (isFull) pages.push(page)
    page.tools.push(tool)
    page.texts.push(text)
    page.chars += text.length + 1
  }
  if (pages.length === 0) return [{ tools: [], text: "[]" }]
  return pages.map(({ tools, texts }) => ({ tools, text: `[${texts.join(",")}]` }))
}

// The query of an MCP URL: `tools` selects toolsets, `read_only` leaves out all tools with changes.

/**
 * Toolsets besides the areas. `default` is the list without a query; `search` has the five tools for finding and calling others.
 */
const namedToolsets = ["default", "search", "all"] as const

interface Selection {
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
