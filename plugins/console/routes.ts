// The console over HTTP: its page, script and style, what it knows of the API, and signing in and out. All but the last
// hold nothing of any organization, and are the same for everybody.
import { parseCookie, stringifySetCookie } from "cookie"
import { z } from "zod"
import { AppError, defineRoute, PublicUrl, type RouteRequest, type RouteResponse } from "#core"
import { sessionCookie } from "#core/engine"
import { Sessions } from "../organizations/index.ts"
import { type Assets, ConsoleAssets } from "./assets.ts"
import { Catalog } from "./catalog.ts"

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

async function shell(assets: ConsoleAssets): Promise<RouteResponse> {
  const files = await assets.load()
  const entry = (kind: "js" | "css") => [...files.keys()].find((name) => /^(?:main|style)-/.test(name) && name.endsWith(kind)) ?? ""
  const preloads = importedBy(entry("js"), files).map((name) => `<link rel="modulepreload" href="/console-assets/${name}">\n`)
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Millrace</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/console-assets/${entry("css")}">
${preloads.join("")}<script type="module" src="/console-assets/${entry("js")}"></script>
</head>
<body><div id="app"></div><noscript>The console needs JavaScript; the API does not: see /docs.</noscript></body>
</html>
`
  const headers = { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy, "Referrer-Policy": "no-referrer" }
  return { headers, body }
}

/** The chunks that a script cannot start without. */
function importedBy(name: string, files: Assets, known = new Set<string>()): string[] {
  for (const [, chunk = ""] of (files.get(name) ?? "").matchAll(/(?:\bfrom|\bimport)\s*"\.\/([\w.-]+)"/g)) {
    if (known.has(chunk)) continue
    known.add(chunk)
    importedBy(chunk, files, known)
  }
  return [...known]
}

export const pages = (
  [
    ["console.page", "/console", "The console."],
    ["console.page_below", "/console/{place+}", "A place in the console."],
  ] as const
).map(([name, path, summary]) =>
  defineRoute({
    name,
    summary,
    method: "GET",
    path,
    inject: { assets: ConsoleAssets },
    async handle({ request, deps }) {
      const page = await shell(deps.assets)
      return isReadable(request) ? { ...page, shared: true } : { ...page, status: 400 }
    },
  }),
)

/** The app says by itself where an address leads to nothing. */
function isReadable(request: RouteRequest): boolean {
  try {
    return Boolean(request.params)
  } catch {
    return false
  }
}

export const asset = defineRoute({
  name: "console.asset",
  summary: "The console's script and style.",
  method: "GET",
  path: "/console-assets/{file}",
  inject: { assets: ConsoleAssets },
  async handle({ request, deps }) {
    const { file = "" } = request.params
    const body = (await deps.assets.load()).get(file)
    if (body === undefined)
      throw new AppError("not_found", `The console has no file "${file}"; load /console again.`, { reason: "console_file_not_found" })
    const type = file.endsWith("css") ? "text/css" : "text/javascript"
    return { headers: { "Cache-Control": "public, max-age=31536000, immutable", "Content-Type": `${type}; charset=utf-8` }, body }
  },
})

export const catalog = defineRoute({
  name: "console.catalog",
  summary: "The operations, as the console shows them.",
  method: "GET",
  path: "/console-assets/catalog.json",
  inject: { catalog: Catalog },
  handle: ({ deps }) => ({ headers: { "Content-Type": "application/json" }, body: deps.catalog.text(), shared: true }),
})

export const session = defineRoute({
  name: "console.session",
  summary: "Whether the browser has a session, which may have ended.",
  method: "GET",
  path: "/console-session",
  handle: ({ request }) => ({
    headers: { "Content-Type": "application/json", "Cache-Control": "no-store" },
    body: JSON.stringify({ present: Boolean(parseCookie(request.headers["cookie"] ?? "")[sessionCookie]) }),
  }),
})

export const signIn = defineRoute({
  name: "console.sign_in",
  summary: "Open a session for a browser, with a key or with the code of the link that the first start prints.",
  method: "POST",
  path: "/console-session",
  maxBodyBytes: 4_096,
  inject: { sessions: Sessions, publicUrl: PublicUrl },
  async handle({ request, deps: { sessions, publicUrl } }) {
    refuseForeignPage(request)
    const given = await credentialIn(request)
    const bearer = "key" in given ? given.key : sessions.redeem(given.code)
    if (bearer === undefined) {
      const message = "This link was used already, or its ten minutes are over; sign in with a key."
      throw new AppError("unauthenticated", message, { reason: "sign_in_code_unknown" })
    }
    const { address, requestId, log } = request
    const session = await sessions.signIn({ bearer, organization: undefined, surface: "rest", address, requestId, log })
    return {
      status: 204,
      headers: { "Set-Cookie": cookieOf(publicUrl(), session.text, new Date(session.expires_at)), "Cache-Control": "no-store" },
    }
  },
})

export const signOut = defineRoute({
  name: "console.sign_out",
  summary: "End the browser's session.",
  method: "DELETE",
  path: "/console-session",
  inject: { sessions: Sessions, publicUrl: PublicUrl },
  async handle({ request, deps: { sessions, publicUrl } }) {
    refuseForeignPage(request)
    const { address, requestId, log } = request
    const bearer = parseCookie(request.headers["cookie"] ?? "")[sessionCookie]
    const ending = sessions.signOut({ bearer, organization: undefined, surface: "rest", address, requestId, log })
    await ending.catch((error: unknown) => {
      // One that has ended by itself.
      if (!(error instanceof AppError) || error.code !== "unauthenticated") throw error
    })
    return { status: 204, headers: { "Set-Cookie": cookieOf(publicUrl(), "", new Date(0)), "Cache-Control": "no-store" } }
  },
})

/** Throws `permission_denied` if the browser names another page than the service's own. Commands name no origin. */
function refuseForeignPage({ headers }: RouteRequest): void {
  const { origin, host, "sec-fetch-site": site } = headers
  const isForeign = origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host)
  if (!isForeign && (site === undefined || site === "same-origin" || site === "none")) return
  const message = `Origin: "${origin ?? site}" is not this service. Only its own pages open and end sessions.`
  throw new AppError("permission_denied", message, { reason: "origin_not_allowed" })
}

const Given = z.union([z.strictObject({ key: z.string().min(1) }), z.strictObject({ code: z.string().min(1) })])

/** JSON alone: a form of another site can send nothing of that type. */
async function credentialIn(request: RouteRequest): Promise<z.infer<typeof Given>> {
  const text = Buffer.from(await request.body()).toString("utf8")
  const parsed = /^application\/json\b/i.test(request.headers["content-type"] ?? "") ? Given.safeParse(jsonOf(text)) : undefined
  if (parsed?.success) return parsed.data
  const message = 'The body is not { "key": "…" } or { "code": "…" } of the type application/json.'
  throw new AppError("invalid_argument", message, { reason: "sign_in_malformed" })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function cookieOf(publicUrl: string, value: string, expires: Date): string {
  const secure = publicUrl.startsWith("https:")
  return stringifySetCookie({ name: sessionCookie, value, expires, path: "/", httpOnly: true, sameSite: "strict", secure })
}
