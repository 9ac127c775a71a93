// Renders the page after a refused form: the cause, per field if known, and the entered values for a correction.
// All submitted text is escaped, and no script runs here. Pure.
import type { RouteResponse } from "#core"
import type { FormFields } from "#core/engine"
import { escapeAttribute } from "./html.ts"

export interface RefusedForm {
  readonly status: number
  /** Message for the visitor. */
  readonly why: string
  /** Path of the page. */
  readonly page: string
  /** Allowed origins for the form's submission; 'self' has no effect in a sandbox. */
  readonly own: readonly string[]
  readonly retryAfter?: string | undefined
  /** Submitted fields and their problems. Absent if another attempt cannot succeed. */
  readonly again?: { readonly fields: FormFields; readonly problems: readonly FieldProblem[] } | undefined
}

export interface FieldProblem {
  /** JSON pointer into the submission; "" for the whole submission. */
  readonly path: string
  readonly message: string
}

const page = (content: string) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Not sent</title><main style="font:1rem/1.5 sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem"><h1>This could not be sent</h1>${content}</main></html>`

const control = 'style="display:block;box-sizing:border-box;width:100%;font:inherit;padding:.4rem"'

export function refusedForm({ status, why, page: path, own, retryAfter, again }: RefusedForm): RouteResponse {
  const correction = again && again.fields.length > 0 ? formOf(path, again.fields, again.problems) : ""
  const body = page(`<p>${escapeAttribute(why)}</p>${correction}<p><a href="${escapeAttribute(path)}">Back to the page</a></p>`)
  const headers = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": `sandbox allow-forms allow-top-navigation-by-user-activation; default-src 'none'; style-src 'unsafe-inline'; form-action ${own.join(" ")}; frame-ancestors 'none'`,
    "Cache-Control": "no-store",
    ...(retryAfter === undefined ? {} : { "Retry-After": retryAfter }),
  }
  return { status, headers, body }
}

function formOf(path: string, fields: FormFields, problems: readonly FieldProblem[]): string {
  const names = new Set(fields.map(([name]) => name))
  const others = problems.filter((problem) => !names.has(nameOf(problem)))
  const list = others.map((problem) => `<li>${escapeAttribute([nameOf(problem), problem.message].filter(Boolean).join(" "))}</li>`)
  const controls = fields.map(([name, value]) =>
    fieldOf(
      name,
      String(value),
      problems.filter((problem) => nameOf(problem) === name),
    ),
  )
  // Also asks for fields missing from the submission.
  const missing = others.filter((problem) => /^[^/]+$/.test(nameOf(problem))).map((problem) => fieldOf(nameOf(problem), "", [problem]))
  return `${list.length > missing.length ? `<ul>${list.join("")}</ul>` : ""}<form action="${escapeAttribute(path)}" method="post">${[...controls, ...missing].join("")}<button style="font:inherit;padding:.4rem 1rem">Send again</button></form>`
}

function fieldOf(name: string, value: string, problems: readonly FieldProblem[]): string {
  const [label, text] = [escapeAttribute(name), escapeAttribute(value)]
  if (name.startsWith("_envelope.") || name === "is_test") return `<input type="hidden" name="${label}" value="${text}">`
  const messages = problems
    .map(({ message }) => `<strong style="display:block;color:#b00020">${escapeAttribute(message)}</strong>`)
    .join("")
  const invalid = messages === "" ? "" : ' aria-invalid="true"'
  const input = /[\r\n]/.test(value)
    ? `<textarea name="${label}" rows="5" ${control}${invalid}>\n${text}</textarea>`
    : `<input name="${label}" value="${text}" ${control}${invalid}>`
  return `<p><label>${label}${messages}${input}</label></p>`
}

/** Returns the field name of a pointer. */
function nameOf({ path }: FieldProblem): string {
  return path.replace(/^\//, "").replaceAll("~1", "/").replaceAll("~0", "~")
}
