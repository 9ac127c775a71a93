// "Unknown fields are refused": a misspelt one would be ignored without a word, and what it was to do would not happen.
import { isRecord } from "../../kernel/json.ts"
import { PipelineEngine } from "../../pipeline/engine.ts"
import { childPointer } from "../../pipeline/pointer.ts"
import { alternativesOf, configSchemaOf, definitionOf, type Schema } from "./config-schema.ts"
import type { ContractFixture } from "./fixture.ts"
import { documentOf, stepOf } from "./subject.ts"
import { violation } from "./violation.ts"

const unknown = "no_such_field"

export async function refusesUnknownFields(fixture: ContractFixture): Promise<void> {
  const { action } = fixture.subject
  const engine = fixture.rehearsal.runtime.container.get(PipelineEngine)
  for (const example of action.examples) {
    const { findings } = await engine.compile(documentOf({ ...stepOf(example), [unknown]: 1 }, fixture.subject.options))
    const refused = findings.some(({ rule, pointer }) => rule === "unknown-field" && pointer === `/pipeline/0/${unknown}`)
    if (!refused) violation(`A field "${unknown}" is ignored silently; make "config" a z.strictObject.`)
  }
  const schema = configSchemaOf(action)
  const open = openObjects(schema, schema, "", new Set())
  if (open.length > 0) violation(`Objects within its config ignore unknown fields, at ${open.join(", ")}; make them z.strictObject.`)
}

/** Pointers of the objects that name their fields and take others too. */
function openObjects(schema: Schema, root: Schema, pointer: string, seen: Set<Schema>): string[] {
  if (seen.has(schema)) return []
  seen.add(schema)
  const at = (inner: unknown, below: string) => (isRecord(inner) ? openObjects(inner, root, below, seen) : [])
  const { properties, $ref } = schema
  const named = typeof $ref === "string" ? at(definitionOf(root, $ref), pointer) : []
  const own = properties !== undefined && schema["additionalProperties"] !== false ? [pointer || "/"] : []
  const fields = Object.entries((properties ?? {}) as Schema).flatMap(([key, field]) => at(field, childPointer(pointer, key)))
  const parts = [...alternativesOf(schema), ...((schema["prefixItems"] as unknown[] | undefined) ?? [])]
  const elements = [schema["items"], schema["additionalProperties"]].flatMap((inner) => at(inner, childPointer(pointer, "*")))
  return [...named, ...own, ...fields, ...parts.flatMap((part) => at(part, pointer)), ...elements]
}
