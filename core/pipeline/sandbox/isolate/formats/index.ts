// The formats that a schema can assert: those of the two dialects by our own functions, which follow the RFCs where
// ajv-formats is looser or stricter, and its OpenAPI extras.
import type { Format } from "ajv"
import { fullFormats } from "ajv-formats/dist/formats.js"
import type { formatNames } from "../../format-names.ts"
import { isEmail, isIdnEmail } from "./email.ts"
import { isHostname, isIdnHostname } from "./hostname.ts"
import { isIri, isIriReference, isUri, isUriReference, isUriTemplate } from "./resource-identifier.ts"
import { isDateTime, isDuration, isTime } from "./time.ts"

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
