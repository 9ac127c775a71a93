// Turns a JSON Schema into the source of two validators, or reports its problems with their places. The first validator stops at
// the first problem. The second finds them all. This runs in the compiler's isolate only, because ajv creates functions from text
// with parts of the schema.
import { Ajv, type AnySchemaObject, type Options } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import { _ } from "ajv/dist/compile/codegen/index.js"
import standaloneCode from "ajv/dist/standalone/index.js"
import type { ProgramProblem } from "../../sandbox.ts"
import { byteLength } from "../../text/result.ts"
import { formats } from "../formats/index.ts"
import { asAjvReadsIt } from "./schema-dialect.ts"
import { compileProblems, shapeProblems } from "./schema-problems.ts"

type Found = { readonly problems: ProgramProblem[] } | { readonly text: string }

const longest = 256 * 1_024
const draft07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/
const draft2020 = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/

export function validatorSource(schema: unknown): Found {
  if (typeof schema !== "boolean" && (typeof schema !== "object" || schema === null || Array.isArray(schema))) {
    return refuse("request_schema must be an object or a boolean")
  }
  const bytes = byteLength(JSON.stringify(schema))
  if (bytes > longest) return refuse(`request_schema is ${bytes} bytes; at most ${longest} are allowed`)
  if (typeof schema === "boolean") return both(schema, false)
  const dialect = "$schema" in schema ? schema.$schema : undefined
  const isDraft07 = typeof dialect === "string" && draft07.test(dialect)
  if (dialect !== undefined && !isDraft07 && !(typeof dialect === "string" && draft2020.test(dialect))) {
    return refuse(`The dialect ${JSON.stringify(dialect)} is not known: use 2020-12 (the default) or draft-07`, "/$schema")
  }
  if ("$async" in schema) return refuse("`$async` is not allowed: a schema answers at once", "/$async")
  return both(schema, isDraft07)
}

function refuse(message: string, pointer = ""): Found {
  return { problems: [{ part: "schema", message: `${message}.`, pointer }] }
}

function both(schema: AnySchemaObject | boolean, isDraft07: boolean): Found {
  try {
    const problems = shapeProblems(schema, judgeOf(isDraft07))
    if (problems.length > 0) return { problems }
    const first = source(schema, isDraft07, false)
    const all = source(schema, isDraft07, true)
    // The second validator is parsed only after a body has failed the first.
    return {
      text: `(function(require){const first=(function(module){${first}\nreturn module.exports})({exports:{}});let all;return{first,all:()=>all??=(function(module){${all}\nreturn module.exports})({exports:{}})}})`,
    }
  } catch (error) {
    return { problems: compileProblems(schema, error, (rest) => source(rest as AnySchemaObject, isDraft07, false)) }
  }
}

const judges = new Map<boolean, Ajv>()

/** Returns the validator of schemas. It is cached, because the meta-schema compiles ten times slower than most schemas. */
function judgeOf(isDraft07: boolean): Ajv {
  const kept = judges.get(isDraft07)
  if (kept) return kept
  const judge = new (isDraft07 ? Ajv : Ajv2020)({ strict: false, logger: false, formats, allErrors: true })
  judges.set(isDraft07, judge)
  return judge
}

/** Uses a separate ajv instance, so schemas share no names. */
function source(schema: AnySchemaObject | boolean, isDraft07: boolean, allErrors: boolean): string {
  const options: Options = {
    allErrors,
    // Unknown keywords and formats have no effect, as in the specification.
    strict: false,
    logger: false,
    formats,
    // Only own properties of the body count. Otherwise "toString" would exist on every object.
    ownProperties: true,
    validateSchema: false,
    // Only a schema with a reference to the meta-schema needs it here.
    meta: JSON.stringify(schema).includes("json-schema.org/"),
    code: { source: true, lines: false, formats: _`require("millrace/formats").formats` },
  }
  const ajv = isDraft07 ? new Ajv(options) : new Ajv2020(options)
  return standaloneCode.default(ajv, ajv.compile(asAjvReadsIt(schema, isDraft07) as AnySchemaObject | boolean))
}
