// Checks the tree of a statement from json_serialize_sql. Every node must be of a known kind, and every table and function on its
// list. So the statement only reads allowed tables. WITH names are visible in the same places as in SQL, so no such name opens a
// catalog table behind it. Pure.
import { tableNames } from "../views.ts"
import { allowedFunctions, allowedTableFunctions, changingCall } from "./functions.ts"

export interface ReadStatement {
  /** In lower case. */
  readonly tables: ReadonlySet<string>
  /** Calls with another result each time. */
  readonly changing: readonly string[]
}

/** Returns the tables and changing calls of a statement, or a sentence with the cause of its refusal. */
export function readTree(serialized: string, sql: string): ReadStatement | { readonly problem: string } {
  const tree = JSON.parse(serialized) as { error: boolean; error_message?: string; statements?: unknown[] }
  if (tree.error) return { problem: problemOf(tree.error_message ?? "The statement could not be parsed.", sql) }
  const statements = tree.statements ?? []
  if (statements.length !== 1) return { problem: `Send exactly one statement; this is ${statements.length}.` }
  const tables = new Set<string>()
  const changing = new Set<string>()
  try {
    walk(statements[0], { names: new Set(), tables, changing })
    return { tables, changing: [...changing] }
  } catch (error) {
    if (error instanceof RefusedStatement) return { problem: error.message }
    if (error instanceof RangeError) return { problem: "The statement is nested too deeply." }
    throw error
  }
}

/** The unquoted column `at`, outside string literals and other names. `AT TIME ZONE` is an operator. */
const bareAt = /^(?:[^'"]|'[^']*'|"[^"]*")*?(?<![\w'"])at(?![\w'"])(?!\s+time\s+zone)/i

/**
 * Returns the engine's message with a remedy: before the message for statements other than SELECT, after it for a reserved word.
 */
function problemOf(message: string, sql: string): string {
  if (/syntax error/i.test(message) && bareAt.test(sql.slice(0, 20_000))) {
    return `${message.trimEnd()}\nThe column "at" has the name of a reserved word: write "at" in quotes, or occurred_at.`
  }
  if (!/only select statements/i.test(message)) return message
  return `A query is one SELECT (or WITH … SELECT): it reads, and DELETE, EXPLAIN, COPY, PIVOT and all other statements are refused. Message of the engine: ${message}`
}

class RefusedStatement extends Error {}

interface Scope {
  /** WITH names visible here. */
  readonly names: ReadonlySet<string>
  /** Collects the other tables. */
  readonly tables: Set<string>
  /** Collects calls with another result each time. */
  readonly changing: Set<string>
}
type Node = Readonly<Record<string, unknown>>

const expressionClasses = new Set([
  "BETWEEN",
  "CASE",
  "CAST",
  "COLLATE",
  "COLUMN_REF",
  "COMPARISON",
  "CONJUNCTION",
  "CONSTANT",
  "FUNCTION",
  "LAMBDA",
  "LAMBDA_REF",
  "OPERATOR",
  "POSITIONAL_REFERENCE",
  "STAR",
  "SUBQUERY",
  "WINDOW",
])

const plainTypes = new Set([
  // Queries and their sources.
  "SELECT_NODE",
  "SET_OPERATION_NODE",
  "RECURSIVE_CTE_NODE",
  "CTE_NODE",
  "BASE_TABLE",
  "EMPTY",
  "EXPRESSION_LIST",
  "JOIN",
  "PIVOT",
  "SUBQUERY",
  "TABLE_FUNCTION",
  // Order and limits.
  "ORDER_MODIFIER",
  "LIMIT_MODIFIER",
  "LIMIT_PERCENT_MODIFIER",
  "DISTINCT_MODIFIER",
  "ORDER_DEFAULT",
  "ASCENDING",
  "DESCENDING",
  // Components of types.
  "DECIMAL_TYPE_INFO",
  "STRING_TYPE_INFO",
  "LIST_TYPE_INFO",
  "STRUCT_TYPE_INFO",
  "ARRAY_TYPE_INFO",
  "ENUM_TYPE_INFO",
  "UNBOUND_TYPE_INFO",
  "INTEGER_LITERAL_TYPE_INFO",
])

const explained: Readonly<Record<string, string>> = {
  PARAMETER: "Parameters such as $1 are not supported; write the value in the query.",
  SHOW_REF: "DESCRIBE, SHOW and SUMMARIZE are not supported; GET /v1/page-analytics/schema lists tables and columns.",
}

function walk(value: unknown, scope: Scope): void {
  if (typeof value !== "object" || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) walk(item, scope)
    return
  }
  const node = value as Node
  if (node["sample"]) scope.changing.add("USING SAMPLE")
  if (typeof node["class"] === "string") checkExpression(node, node["class"], scope)
  else if (typeof node["type"] === "string") checkPlain(node, node["type"], scope)
  const inner = withNames(node, scope)
  for (const [name, child] of Object.entries(node)) {
    if (name === "cte_map") continue
    walk(child, name === "right" && node["type"] === "RECURSIVE_CTE_NODE" ? withName(inner, nameOf(node["cte_name"])) : inner)
  }
}

function checkExpression(node: Node, kind: string, { changing }: Scope): void {
  if (!expressionClasses.has(kind)) throw new RefusedStatement(explained[kind] ?? `${kind} expressions are not supported.`)
  if (kind !== "FUNCTION" && kind !== "WINDOW") return
  checkFunction(node, allowedFunctions)
  const call = changingCall(nameOf(node["function_name"]), nameOf(node["schema"]), (node["children"] as unknown[] | undefined)?.length ?? 0)
  if (call) changing.add(call)
}

function checkPlain(node: Node, kind: string, scope: Scope): void {
  if (!plainTypes.has(kind)) throw new RefusedStatement(explained[kind] ?? `${kind} is not supported.`)
  if (kind === "BASE_TABLE") checkTable(node, scope)
  if (kind === "TABLE_FUNCTION") checkTableFunction(node)
}

/** Schemas of the engine's own functions; the grammar itself qualifies some of them. */
const functionSchemas = new Set(["main", "pg_catalog"])

function checkFunction(node: Node, allowed: ReadonlySet<string>): void {
  const name = nameOf(node["function_name"])
  const elsewhere = isQualified(node["schema"]) && !functionSchemas.has(nameOf(node["schema"]))
  if (isQualified(node["catalog"]) || elsewhere) throw new RefusedStatement(`The function "${name}" may not be qualified.`)
  if (!allowed.has(name))
    throw new RefusedStatement(`The function "${name}" is not allowed; GET /v1/page-analytics/schema lists those that are.`)
}

function checkTableFunction(node: Node): void {
  const call = node["function"] as Node | null
  if (call?.["class"] !== "FUNCTION") throw new RefusedStatement("Only a function may stand in FROM like a table.")
  checkFunction(call, allowedTableFunctions)
}

function checkTable(node: Node, scope: Scope): void {
  const name = nameOf(node["table_name"])
  if (isQualified(node["catalog_name"]) || isQualified(node["schema_name"]))
    throw new RefusedStatement(`The table "${name}" may not be qualified; there is one schema.`)
  if (node["at_clause"]) throw new RefusedStatement("AT (VERSION ...) is not taken.")
  if (scope.names.has(name)) return
  if (!tableNames.includes(name)) throw new RefusedStatement(`The table "${name}" does not exist; there are ${tableNames.join(", ")}.`)
  scope.tables.add(name)
}

function isQualified(name: unknown): boolean {
  return name !== "" && name !== undefined && name !== null
}

/** Returns the scope inside a node, with its WITH names. Each WITH query sees the names before its own, never itself. */
function withNames(node: Node, scope: Scope): Scope {
  const map = (node["cte_map"] as { map?: { key: string; value: unknown }[] } | undefined)?.map
  if (!map || map.length === 0) return scope
  let current = scope
  for (const { key, value } of map) {
    walk(value, current)
    current = withName(current, checkedName(key))
  }
  return current
}

function withName({ names, ...gathered }: Scope, name: string): Scope {
  return { ...gathered, names: new Set([...names, name]) }
}

/** Returns the name if it cannot refer to a file or to a view of the engine. */
function checkedName(key: string): string {
  const name = key.toLowerCase()
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name)) throw new RefusedStatement(`WITH "${key.slice(0, 80)}": name it with letters, digits and _.`)
  if (/^(?:duckdb|pragma|sqlite|pg)_/.test(name) || name === "information_schema")
    throw new RefusedStatement(`WITH "${key}": names of the engine's own tables are reserved.`)
  return name
}

function nameOf(value: unknown): string {
  return typeof value === "string" ? value.toLowerCase() : ""
}
