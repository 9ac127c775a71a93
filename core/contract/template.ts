// Templates inside an action's config. A field declared with `template(inner)` takes either a plain value of the inner
// schema or a string holding `{{ ... }}`; `templateJson()` takes any JSON with templates in its strings. Parsing a
// config turns them into slots, which the compiler renders once per event; `run` sees plain, checked values.
import { z } from "zod"
import type { Json } from "./collection.ts"
import { AnyJson } from "./fields.ts"

/** A value that may hold templates, found by walking a parsed config. */
export class TemplateSlot<T = unknown> {
  /** As written in the document: a string with `{{ }}`, or JSON with such strings inside. */
  readonly source: Json
  /** What the rendered value must satisfy. */
  readonly schema: z.ZodType<T>
  /** True when any JSON satisfies the schema, so that a rendered value need not be checked. */
  readonly takesAny: boolean

  constructor(source: Json, schema: z.ZodType<T>, takesAny = false) {
    this.source = source
    this.schema = schema
    this.takesAny = takesAny
  }
}

/** A config with every slot replaced by what it renders to. */
export type Rendered<C> =
  C extends TemplateSlot<infer T>
    ? T
    : C extends readonly (infer E)[]
      ? Rendered<E>[]
      : C extends object
        ? { [K in keyof C]: Rendered<C[K]> }
        : C

/** Whether a template stands anywhere in the value. */
export function containsTemplate(value: unknown): boolean {
  if (typeof value === "string") return value.includes("{{") || value.includes("{%")
  if (Array.isArray(value)) return value.some(containsTemplate)
  if (typeof value === "object" && value !== null) return Object.values(value).some(containsTemplate)
  return false
}

/** A field that may be a template. A value without one is checked against `inner` when the pipeline is compiled, a rendered one before the action runs. */
export function template<T>(inner: z.ZodType<T>) {
  const templated = z
    .string()
    .refine(containsTemplate, { error: "expected a template such as {{ event.field }}", abort: true })
    .meta({ description: "A template: {{ expression }}" })
  return z.union([inner, templated]).transform((value): TemplateSlot<T> => new TemplateSlot(value as Json, inner))
}

/** Any JSON value; templates may stand in any of its strings. */
export function templateJson() {
  return AnyJson.transform((value): TemplateSlot<Json> => new TemplateSlot(value, AnyJson, true))
}

/** An object of columns or fields; templates may stand in any string within its values, not in its keys. */
export function templateRecord<T extends Json>(value: z.ZodType<T> = AnyJson as unknown as z.ZodType<T>) {
  const record = z.record(z.string(), value)
  const takesAny = (value as unknown) === AnyJson
  return z
    .record(z.string(), AnyJson)
    .transform((given): TemplateSlot<Record<string, T>> => new TemplateSlot(given as Json, record, takesAny))
}
