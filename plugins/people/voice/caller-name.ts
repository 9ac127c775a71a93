// Rules for caller names (CNAM) and their numbers. The service checks them before an approval is requested.
import { parsePhoneNumberFromString } from "libphonenumber-js"
import { AppError } from "#core"

const maxLength = 15

/** Names that phones display for unnamed calls or as a warning, and generic values such as a state. Carriers refuse them. */
const generic = new Set(
  [
    "ANONYMOUS, BLOCKED, CALLER, CELL PHONE, FRAUD, FRAUD RISK, NO NAME, NOT AVAILABLE, OUT OF AREA, PHONE, POTENTIAL SPAM, PRIVATE",
    "PRIVATE CALLER, RESTRICTED, ROBOCALL, SCAM, SCAM LIKELY, SPAM, SPAM LIKELY, SPAM RISK, TELEMARKETER, TEST, TOLL FREE, TOLL FREE CALL",
    "UNAVAILABLE, UNKNOWN, UNKNOWN CALLER, UNKNOWN NAME, USA, V, VOIP CALLER, WIRELESS, WIRELESS CALLER",
    "ALABAMA, ALASKA, ARIZONA, ARKANSAS, CALIFORNIA, COLORADO, CONNECTICUT, DELAWARE, FLORIDA, GEORGIA, HAWAII, IDAHO, ILLINOIS, INDIANA",
    "IOWA, KANSAS, KENTUCKY, LOUISIANA, MAINE, MARYLAND, MASSACHUSETTS, MICHIGAN, MINNESOTA, MISSISSIPPI, MISSOURI, MONTANA, NEBRASKA",
    "NEVADA, NEW HAMPSHIRE, NEW JERSEY, NEW MEXICO, NEW YORK, NORTH CAROLINA, NORTH DAKOTA, OHIO, OKLAHOMA, OREGON, PENNSYLVANIA",
    "RHODE ISLAND, SOUTH CAROLINA, SOUTH DAKOTA, TENNESSEE, TEXAS, UTAH, VERMONT, VIRGINIA, WASHINGTON, WEST VIRGINIA, WISCONSIN, WYOMING",
  ].flatMap((line) => line.split(", ")),
)

/** Authorities and emergency services. A name must not contain these words. */
const authorities = new Set("911 CDC CIA DEA DHS FBI FEMA IRS MEDICAID MEDICARE NSA POLICE SHERIFF SSA USPS".split(" "))

/** Returns undefined if carriers accept the name. */
export function problemOfCallerName(name: string): string | undefined {
  if (name === "") return "is empty; a caller name has 1 to 15 characters"
  if (name.length > maxLength) return `has ${name.length} characters; a caller name has at most ${maxLength}`
  if (!/^[A-Za-z]/.test(name)) return "does not begin with a letter of A to Z"
  const other = /[^A-Za-z0-9., ]/.exec(name)
  if (other) return `holds ${JSON.stringify(other[0])}; a caller name holds letters of A to Z, digits, periods, commas and spaces`
  if (/ $| {2}/.test(name)) return "ends with a space, or holds two in a row"
  // Treats F.B.I. as a single word too.
  const readings = [name, name.replaceAll(".", "")].map(wordsOf)
  const whole = readings.map((words) => words.join(" ")).find((words) => generic.has(words))
  if (whole !== undefined) return `is reserved: "${whole}" is what phones show of their own, or the name of a place`
  const authority = readings.flat().find((word) => authorities.has(word))
  return authority === undefined ? undefined : `is reserved: "${authority}" stands for an authority`
}

function wordsOf(name: string): string[] {
  return name
    .toUpperCase()
    .split(/[., ]+/)
    .filter((word) => word !== "")
}

/** Throws `invalid_argument`. */
export function requireCallerName(name: string): void {
  const problem = problemOfCallerName(name)
  if (problem === undefined) return
  throw new AppError("invalid_argument", `The caller name ${JSON.stringify(name.slice(0, 60))} ${problem}.`, {
    reason: "caller_name_refused",
    fields: [{ path: "name", message: problem }],
  })
}

/** Returns the number in E.164. Throws `invalid_argument` if the number cannot have a caller name. */
export function requireCallerNumber(text: string): string {
  const number = parsePhoneNumberFromString(text)
  const problem = !number?.isValid()
    ? "is not a phone number in E.164, such as +14155552671"
    : number.country !== "US"
      ? "is not a number of the United States, where alone caller names are registered"
      : number.getType() === "TOLL_FREE"
        ? "is toll-free; carriers take caller names of other numbers only"
        : undefined
  if (number && problem === undefined) return number.number
  throw new AppError("invalid_argument", `phone_number: ${JSON.stringify(text.slice(0, 40))} ${problem}.`, {
    reason: "caller_number_refused",
    fields: [{ path: "phone_number", message: problem ?? "" }],
  })
}
