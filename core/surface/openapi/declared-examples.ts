// Examples of an operation's input for its documentation: those that it declares, with something plausible in place of
// what calls before them answered; where it declares none, one made from the schema.
import { fulfilled, type OperationExample } from "../../contract/example.ts"
import type { AnyOperation } from "../../contract/operation.ts"
import type { JsonObject } from "../wire-schema.ts"
import { exampleOf } from "./example.ts"

export interface ShownExample {
  readonly title: string
  readonly input: JsonObject
}

/** Only such as the operation's own schema accepts. `schema` is its input's. */
export function examplesFor(
  operation: AnyOperation,
  schema: JsonObject,
  resolve: (reference: string) => JsonObject | undefined,
): ShownExample[] {
  const properties = (schema["properties"] ?? {}) as Record<string, JsonObject>
  const declared: readonly OperationExample[] = operation.examples ?? [{ input: exampleOf(schema, "input", resolve) }]
  return declared
    .map(({ title, input }, index) => ({
      title: title ?? (index === 0 ? operation.summary.replace(/\.$/, "") : `Another ${index}`),
      input: fulfilled(input, (_path, field) =>
        exampleOf(properties[field] ?? { type: "string", format: "uuid" }, "input", resolve, field),
      ) as JsonObject,
    }))
    .filter(({ input }) => operation.input.safeParse(input).success)
}
