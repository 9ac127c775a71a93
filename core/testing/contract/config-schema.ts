// An action type's config as a JSON Schema, which can be walked for any zod type.
import { z } from "zod"
import type { AnyAction } from "../../contract/action.ts"

export interface Schema {
  readonly [key: string]: unknown
}

export function configSchemaOf({ config }: AnyAction): Schema {
  return z.toJSONSchema(config, { io: "input", unrepresentable: "any" }) as Schema
}

/** What a `$ref` stands for. */
export function definitionOf(root: Schema, reference: string): unknown {
  return reference === "#" ? root : (root["$defs"] as Schema | undefined)?.[reference.replace("#/$defs/", "")]
}

/** The schemas that a value may, or must, satisfy beside this one. */
export function alternativesOf(schema: Schema): readonly unknown[] {
  return ["anyOf", "oneOf", "allOf"].flatMap((key) => (Array.isArray(schema[key]) ? (schema[key] as unknown[]) : []))
}
