// Templates in an action's config. A field with `template(inner)` accepts a value of the inner schema or a string with
// `{{ ... }}`. `templateJson()` accepts any JSON with templates in its strings. A parsed config contains slots. The compiler
// renders the slots once per event, and `run` sees plain, checked values.
import { z } from "zod"
import type { Json } from "./collection.ts"
import { AnyJson } from "./fields.ts"

/** A value that may contain templates. The compiler finds slots in a parsed config. */
export class TemplateSlot<T = unknown> {
  /** The value as written: a string with `{{ }}`, or JSON with templates in its strings. */
  readonly source: Json
  /** The schema of the rendered value. */
  readonly schema: z.ZodType<T>
  /** True if any JSON satisfies the schema. The rendered value then needs no check. */
  readonly takesAny: boolean

  constructor(source: Json, schema: z.ZodType<T>, takesAny = false) {
    this.source = source
    this.schema = schema
    this.takesAny = takesAny
  }
}

/** A config with rendered values in place of its slots. */
export type Rendered<C> =
  C extends TemplateSlot<infer T>
    ? T
    : C extends readonly (infer E)[]
      ? Rendered<E>[]
      : C extends object
        ? { [K in keyof C]: Rendered<C[K]> }
        : C

/** Returns true if the value contains a template at any depth. */
export function containsTemplate(value: unknown): boolean {
  if (typeof value === "string") return value.includes("{{") || value.includes("{%")
  if (Array.isArray(value)) return value.some(containsTemplate)
  if (typeof value === "object" && value !== null) return Object.values(value).some(containsTemplate)
  return false
}

/**
 * A field that may be a template. A plain value is checked against `inner` at compile time, a rendered value before the action
 * runs.
 */
export function template<T>(inner: z.ZodType<T>) {
  const templated = z
    .string()
    .refine(containsTemplate, { error: "expected a template such as {{ event.field }}", abort: true })
    .meta({ description: "A template: {{ expression }}" })
  return z.union([inner, templated]).transform((value): TemplateSlot<T> => new TemplateSlot(value as Json, inner))
}

/** Any JSON value with templates in its strings. */
export function templateJson() {
  return AnyJson.transform((value): TemplateSlot<Json> => new TemplateSlot(value, AnyJson, true))
}

/** An object of columns or fields. Templates may appear in strings of its values, but not in its keys. */
export function templateRecord<T extends Json>(value: z.ZodType<T> = AnyJson as unknown as z.ZodType<T>) {
  const record = z.record(z.string(), value)
  const takesAny = (value as unknown) === AnyJson
  return z
    .record(z.string(), AnyJson)
    .transform((given): TemplateSlot<Record<string, T>> => new TemplateSlot(given as Json, record, takesAny))
}
