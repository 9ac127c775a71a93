// Possible spellings of the signed public URL.
import { parse, stringify } from "node:querystring"
import { z } from "zod"

export const UrlForm = z.enum(["exact", "twilio", "hubspot"])
export type UrlForm = z.output<typeof UrlForm>

export function urlForms(url: string, form: UrlForm): string[] {
  switch (form) {
    case "exact":
      return [url]
    case "hubspot":
      return [hubspotUrl(url)]
    case "twilio":
      return twilioUrls(url)
  }
}

const hubspotDecoded: Readonly<Record<string, string>> = {
  "%3A": ":",
  "%2F": "/",
  "%3F": "?",
  "%40": "@",
  "%21": "!",
  "%24": "$",
  "%27": "'",
  "%28": "(",
  "%29": ")",
  "%2A": "*",
  "%2C": ",",
  "%3B": ";",
}

/** HubSpot's v3 signature decodes exactly these twelve sequences of the URL before signing. */
function hubspotUrl(url: string): string {
  return url.replace(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi, (sequence) => hubspotDecoded[sequence.toUpperCase()] ?? sequence)
}

/** Twilio signs with or without the default port. The query is as sent, or in the spelling of Twilio's older encoder. */
function twilioUrls(url: string): string[] {
  const normal = URL.canParse(url) ? new URL(url).toString() : url
  const forms = [url, withoutPort(url), withDefaultPort(url), withoutPort(normal), withDefaultPort(normal)]
  return [...new Set(forms.flatMap((form) => [form, withOlderQuery(form)]))]
}

const authority = /^(https?):\/\/([^/?#]*?)(?::(\d+))?(?=[/?#]|$)/i

function withoutPort(url: string): string {
  return url.replace(authority, (_whole, scheme: string, host: string) => `${scheme}://${host}`)
}

function withDefaultPort(url: string): string {
  return url.replace(authority, (whole: string, scheme: string, host: string, port: string | undefined) =>
    port === undefined ? `${scheme}://${host}:${scheme.toLowerCase() === "https" ? 443 : 80}` : whole,
  )
}

/** Decodes the query and encodes it like Node's `querystring`. */
function withOlderQuery(url: string): string {
  const start = url.indexOf("?")
  return start < 0 || start === url.length - 1 ? url : `${url.slice(0, start)}?${stringify(parse(url.slice(start + 1)))}`
}

/** Returns common variants of the registered URL, for explaining a failure. */
export function urlVariants(url: string): string[] {
  const [base = "", query] = url.split(/(?=\?)/, 2)
  const swapped = base.startsWith("https:") ? base.replace(/^https:/, "http:") : base.replace(/^http:/, "https:")
  const slash = base.endsWith("/") ? base.slice(0, -1) : `${base}/`
  const tail = query ?? ""
  return [swapped + tail, slash + tail, withoutPort(url), withDefaultPort(url), base].filter((variant) => variant !== url)
}
