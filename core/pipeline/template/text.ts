// Compiles a string with templates. A single `{{ expression }}` keeps the type of its value. All other strings render to text.
// Text without tags is joined from parts. Liquid renders text with tags, within its limits.
import { analyzeSync, Output, type Template } from "liquidjs"
import { AppError } from "../../kernel/errors.ts"
import type { Evaluate, TemplateScope } from "../graph.ts"
import { sentence, templateProblems } from "./check.ts"
import { type Compiled, continued, evaluatorOf, keptByText } from "./expression.ts"
import { contextOf, liquid, maxTextLength, textOf } from "./liquid.ts"
import { meter } from "./meter.ts"
import { type Read, readOfVariable, readsOfValue } from "./reads.ts"

export const compileText = keptByText((text): Compiled<unknown> => {
  const problems = templateProblems(text)
  if (problems.length > 0) return { ok: false, problems }
  try {
    const templates = liquid.parse(text)
    const only = templates[0]
    if (templates.length === 1 && only instanceof Output) {
      const reads = readsOfValue(only.value)
      return { ok: true, evaluate: continued("text", text, reads, evaluatorOf(withoutEscape(only).value)), reads }
    }
    const { evaluate, reads } = templates.every(isPlain) ? joined(templates) : tagged(templates)
    return { ok: true, evaluate: continued("text", text, reads, evaluate), reads }
  } catch (error) {
    return { ok: false, problems: [sentence(error)] }
  }
})

interface Rendering {
  readonly evaluate: Evaluate<string>
  readonly reads: readonly Read[]
}

function joined(templates: readonly Template[]): Rendering {
  const outputs = templates.filter((template) => template instanceof Output)
  return { reads: outputs.flatMap((output) => readsOfValue(output.value)), evaluate: concatenation(templates.map(partOf)) }
}

function partOf(template: Template): string | Evaluate<unknown> {
  return template instanceof Output ? evaluatorOf(withoutEscape(template).value) : (template as Template & { str: string }).str
}

/** Keeps only the parts in memory. A closure exists for every template of every pipeline in use. */
function concatenation(parts: readonly (string | Evaluate<unknown>)[]): Evaluate<string> {
  return (scope) => {
    let text = ""
    meter.spend(parts.length * 2)
    for (const part of parts) text += typeof part === "string" ? part : textOf(part(scope))
    return withinLimit(text)
  }
}

function tagged(templates: Template[]): Rendering {
  const { globals } = analyzeSync(templates, { partials: false })
  return {
    reads: Object.values(globals)
      .flat()
      .flatMap((variable) => readOfVariable(variable) ?? []),
    evaluate: renderer(templates),
  }
}

function renderer(templates: Template[]): Evaluate<string> {
  return (scope) => withinLimit(rendered(templates, scope))
}

function rendered(templates: Template[], scope: TemplateScope): string {
  try {
    return String(liquid.renderSync(templates, contextOf(scope)))
  } catch (error) {
    throw new AppError("failed_precondition", sentence(error), { reason: "template_failed", retryable: false }, { cause: error })
  }
}

/** Removes the engine's text conversion, a filter at the end of every output. The raw value is needed here. */
function withoutEscape(output: Output): Output {
  output.value.filters.pop()
  return output
}

function isPlain(template: Template): boolean {
  return template instanceof Output || typeof (template as Template & { str?: unknown }).str === "string"
}

function withinLimit(text: string): string {
  if (text.length <= maxTextLength) return text
  const message = `The template rendered to ${text.length} characters; the limit is ${maxTextLength}.`
  throw new AppError("failed_precondition", message, { reason: "template_failed", retryable: false })
}
