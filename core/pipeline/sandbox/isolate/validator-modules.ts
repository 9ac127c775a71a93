// The few modules that ajv's generated code asks for by `require`, bundled into every isolate.
import equal from "ajv/dist/runtime/equal.js"
import ucs2length from "ajv/dist/runtime/ucs2length.js"
import { formats } from "./formats/index.ts"

const modules: Record<string, unknown> = {
  "ajv/dist/runtime/equal": equal,
  "ajv/dist/runtime/ucs2length": ucs2length,
  "millrace/formats": { formats },
}

export function requireFromValidator(name: string): unknown {
  if (!Object.hasOwn(modules, name)) throw new Error(`A validator requires "${name}", which isolates do not have.`)
  return modules[name]
}
