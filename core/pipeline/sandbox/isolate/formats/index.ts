// Formats that a schema can assert. Our own functions check the formats of the two dialects, because ajv-formats is looser or
// stricter than the RFCs. The OpenAPI extras come from ajv-formats.
import type { Format } from "ajv"
import { fullFormats } from "ajv-formats/dist/formats.js"
import type { formatNames } from "../../format-names.ts"
import { isEmail, isIdnEmail } from "./email.ts"
import { isHostname, isIdnHostname } from "./hostname.ts"
import { isIri, isIriReference, isUri, isUriReference, isUriTemplate } from "./resource-identifier.ts"

const dateTime = /^(\d{4})-(\d\d)-(\d\d)t(.*)$/is
const time = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i
const datePart = "(?:\\d+Y(?:\\d+M(?:\\d+D)?)?|\\d+M(?:\\d+D)?|\\d+D)"
const timePart = "T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)"
const duration = new RegExp(`^P(?:\\d+W|${datePart}(?:${timePart})?|${timePart})$`)
const minutesADay = 1_440

/** `date-time`, `time` (RFC 3339, section 5.6) and `duration` (its appendix A). */
function isDateTime(text: string): boolean {
  const [whole, year, month, day, rest = ""] = dateTime.exec(text) ?? []
  return whole !== undefined && isDay(Number(year), Number(month), Number(day)) && isTime(rest)
}

function isDay(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31
  return day <= days
}

function isTime(text: string): boolean {
  const [whole, hour, minute, second, sign, offsetHour = "0", offsetMinute = "0"] = time.exec(text) ?? []
  if (whole === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return false
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return false
  if (Number(second) < 60) return true
  // A leap second is the last second of a day in UTC.
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === "-" ? -1 : 1)
  const utc = Number(hour) * 60 + Number(minute) - offset
  return (utc + minutesADay) % minutesADay === minutesADay - 1
}

function isDuration(text: string): boolean {
  return duration.test(text)
}

export const formats: Record<(typeof formatNames)[number], Format> = {
  ...fullFormats,
  "date-time": isDateTime,
  time: isTime,
  duration: isDuration,
  email: isEmail,
  "idn-email": isIdnEmail,
  hostname: isHostname,
  "idn-hostname": isIdnHostname,
  uri: isUri,
  "uri-reference": isUriReference,
  iri: isIri,
  "iri-reference": isIriReference,
  "uri-template": isUriTemplate,
  uuid: /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i,
  regex: isRegex,
}

function isRegex(text: string): boolean {
  try {
    return new RegExp(text, "u") instanceof RegExp
  } catch {
    return false
  }
}
