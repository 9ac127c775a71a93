// Builds the input of an operation from an HTTP request: path parameters, then the query (GET, DELETE) or the JSON body.
import type { IncomingMessage } from "node:http"
import { z } from "zod"
import type { AnyOperation } from "../../contract/operation.ts"
import { AppError, type FieldProblem } from "../../kernel/errors.ts"
import { maxProblems } from "../../kernel/zod-problems.ts"
import { readJsonBody } from "./json-body.ts"
import { queryValues } from "./query-values.ts"

export interface RequestInput {
  readonly request: IncomingMessage
  /** Path parameters. */
  readonly parameters: Readonly<Record<string, string | string[]>>
  readonly maxBodyBytes?: number | undefined
  /** Reads the resource at the same path, if it has a read. */
  readonly shown?: (() => Promise<unknown>) | undefined
}

/**
 * Throws `invalid_argument` if a body or query field contradicts the path, and the errors of readJsonBody. A field equal to the
 * read's value is accepted: the path may name a resource by UUID and the body by slug.
 */
export async function readInput(
  operation: AnyOperation,
  { request, parameters, maxBodyBytes, shown }: RequestInput,
): Promise<Record<string, unknown>> {
  const fromQuery = operation.http.method === "GET" || operation.http.method === "DELETE"
  const query = queryOf(request.url ?? "")
  if (!fromQuery && query.size > 0) {
    throw refused(
      [...query.keys()]
        .slice(0, maxProblems)
        .map((path) => ({ path, message: `${operation.http.method} reads its fields from the body, not from the query.` })),
      "unexpected_query",
    )
  }
  const given = fromQuery ? queryValues(operation, query) : await readJsonBody(request, maxBodyBytes)
  const differing = Object.entries(parameters).filter(
    ([name, value]) => Object.hasOwn(given, name) && differs(operation, name, given[name], value),
  )
  const now = differing.length > 0 ? ((await shown?.()) as Record<string, unknown> | undefined) : undefined
  const conflicts = differing.filter(([name]) => typeof given[name] !== "string" || now?.[name] !== given[name])
  if (conflicts.length > 0) {
    throw refused(
      conflicts.map(([path, value]) => ({
        path,
        message: `The field contradicts "${String(value)}" in the path; leave the field out.`,
      })),
      "path_field_mismatch",
    )
  }
  return { ...given, ...parameters }
}

/**
 * Texts agree if the field's schema parses both to the same value. Objects never agree: their own text conversion may fail or
 * recurse too deep.
 */
function differs({ input }: AnyOperation, name: string, given: unknown, ofPath: string | string[]): boolean {
  if (typeof given === "object") return true
  if (String(given) === ofPath) return false
  const field = (input as Partial<z.ZodObject>).shape?.[name]
  if (typeof given !== "string" || !field) return true
  const [one, other] = [z.safeParse(field, given), z.safeParse(field, ofPath)]
  return !one.success || !other.success || one.data !== other.data
}

/** Returns the values of each parameter, in order. */
function queryOf(url: string): Map<string, string[]> {
  const at = url.indexOf("?")
  const query = new Map<string, string[]>()
  if (at < 0) return query
  for (const [name, value] of new URLSearchParams(url.slice(at + 1))) {
    const values = query.get(name)
    if (values) values.push(value)
    else query.set(name, [value])
  }
  return query
}

function refused(fields: FieldProblem[], reason: "path_field_mismatch" | "unexpected_query"): AppError {
  return new AppError("invalid_argument", `"${fields[0]?.path}": ${fields[0]?.message}`, { reason, fields })
}
