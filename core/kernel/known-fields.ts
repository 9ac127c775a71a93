// Returns a schema's field names at a path, for "did you mean". It walks zod's own definitions.
import type { z } from "zod"

interface Definition {
  readonly type: string
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>
  readonly innerType?: z.core.$ZodType
  readonly element?: z.core.$ZodType
  readonly valueType?: z.core.$ZodType
  readonly in?: z.core.$ZodType
  readonly left?: z.core.$ZodType
  readonly right?: z.core.$ZodType
  readonly options?: readonly z.core.$ZodType[]
  readonly getter?: () => z.core.$ZodType
}

export function knownFields(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  let level = objectsIn(schema)
  for (const step of path) level = level.flatMap((definition) => childrenOf(definition, step)).flatMap((child) => objectsIn(child))
  return [...new Set(level.flatMap((definition) => Object.keys(definition.shape ?? {})))]
}

function childrenOf(definition: Definition, step: PropertyKey): z.core.$ZodType[] {
  const child = definition.shape?.[String(step)] ?? definition.element ?? definition.valueType
  return child ? [child] : []
}

/** Returns every object, array and record of a schema, behind wrappers, pipes and unions. */
function objectsIn(schema: z.core.$ZodType, depth = 0): Definition[] {
  if (depth > 20) return []
  const definition = schema._zod.def as unknown as Definition
  if (definition.shape || definition.element || definition.valueType) return [definition]
  const inner = [
    definition.innerType,
    definition.type === "pipe" ? definition.in : undefined,
    definition.left,
    definition.right,
    ...(definition.options ?? []),
    definition.type === "lazy" ? definition.getter?.() : undefined,
  ]
  return inner.flatMap((next) => (next ? objectsIn(next, depth + 1) : []))
}
