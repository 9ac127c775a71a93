// Runs the validators on a body. The first validator stops at the first problem, so a large body cannot produce millions of
// problems. The second finds all problems, and runs only for a small body that failed.

/** Errors of ajv. */
interface AjvError {
  readonly instancePath: string
  readonly keyword: string
  readonly message?: string
  readonly params: Record<string, unknown>
}

interface Validator {
  (value: unknown): boolean
  errors?: AjvError[] | null
}

export interface Validators {
  readonly first: Validator
  /** Created on first use. */
  readonly all: () => Validator
}

export interface Problem {
  readonly pointer: string
  readonly message: string
  readonly keyword?: string
}

const maxProblems = 20
const maxTotalLength = 16_384
const maxPointerLength = 1_000
const maxDetailLength = 200

/** Returns at most 20 problems. A valid value has no problems. */
export function problemsOf(validators: Validators, value: unknown, length: number): Problem[] {
  try {
    if (validators.first(value)) return []
    return describeAll(length <= maxTotalLength ? everyError(validators, value) : validators.first.errors)
  } catch (error) {
    if (error instanceof RangeError) return [{ pointer: "", message: "is nested too deeply to be validated" }]
    throw error
  }
}

function everyError(validators: Validators, value: unknown): readonly AjvError[] | null | undefined {
  const all = validators.all()
  all(value)
  return all.errors ?? validators.first.errors
}

function describeAll(errors: readonly AjvError[] | null | undefined): Problem[] {
  const problems = (errors ?? []).slice(0, maxProblems).map(describe)
  return problems.length > 0 ? problems : [{ pointer: "", message: "does not match the schema" }]
}

function describe(error: AjvError): Problem {
  return {
    pointer: pointerOf(error).slice(0, maxPointerLength),
    message: messageOf(error),
    keyword: error.keyword,
  }
}

/** Points to the missing or additional property, not to its object. */
function pointerOf({ instancePath, params }: AjvError): string {
  const property = params["missingProperty"] ?? params["additionalProperty"] ?? params["unevaluatedProperty"]
  if (typeof property !== "string") return instancePath
  return `${instancePath}/${property.slice(0, maxDetailLength).replaceAll("~", "~0").replaceAll("/", "~1")}`
}

function messageOf(error: AjvError): string {
  if (error.keyword === "required") return "is required"
  return `${(error.message ?? "does not match").slice(0, maxDetailLength)}${detail(error)}`
}

/** Details in ajv's parameters that its message omits. */
function detail({ keyword, params }: AjvError): string {
  const named = params["additionalProperty"] ?? params["unevaluatedProperty"] ?? params["propertyName"]
  if (typeof named === "string") return `: ${JSON.stringify(named.slice(0, maxDetailLength))}`
  if (keyword === "enum") return `: ${JSON.stringify(params["allowedValues"]).slice(0, maxDetailLength)}`
  if (keyword === "const") return `: ${(JSON.stringify(params["allowedValue"]) ?? "").slice(0, maxDetailLength)}`
  return ""
}
