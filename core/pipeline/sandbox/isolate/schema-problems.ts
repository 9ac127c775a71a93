// Asks the validators about a body. The first stops at the first problem, so that a large body can't make millions of
// them; the second, which finds them all, is asked only about a small body that failed.

/** As ajv reports them. */
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
  /** Made on its first use. */
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

/** No problems: the value is valid. At most 20 otherwise. */
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

/** Of the property that is missing or too many, rather than of the object that lacks or holds it. */
function pointerOf({ instancePath, params }: AjvError): string {
  const property = params["missingProperty"] ?? params["additionalProperty"] ?? params["unevaluatedProperty"]
  if (typeof property !== "string") return instancePath
  return `${instancePath}/${property.slice(0, maxDetailLength).replaceAll("~", "~0").replaceAll("/", "~1")}`
}

function messageOf(error: AjvError): string {
  if (error.keyword === "required") return "is required"
  return `${(error.message ?? "does not match").slice(0, maxDetailLength)}${detail(error)}`
}

/** What ajv keeps in parameters and leaves out of its message. */
function detail({ keyword, params }: AjvError): string {
  const named = params["additionalProperty"] ?? params["unevaluatedProperty"] ?? params["propertyName"]
  if (typeof named === "string") return `: ${JSON.stringify(named.slice(0, maxDetailLength))}`
  if (keyword === "enum") return `: ${JSON.stringify(params["allowedValues"]).slice(0, maxDetailLength)}`
  if (keyword === "const") return `: ${(JSON.stringify(params["allowedValue"]) ?? "").slice(0, maxDetailLength)}`
  return ""
}
