// Reads a fixture of user agents from a file in one of the usual forms:
// - JSON: a list of objects, or an object with one list of objects.
// - JSON Lines: one object per line.
// - CSV or TSV with a header line, fields quoted as in RFC 4180. An empty field leaves its class unlabelled; `""` is
//   the label of an empty class.
//
// | field | accepted columns (in any case; `_`, `-` and spaces are equal) |
// |---|---|
// | the agent | ua, user_agent, useragent, agent, string |
// | device_type | device_type, device, device_category, type, form_factor |
// | browser | browser, browser_family, family, browser_name |
// | in_app | in_app, inapp, app, in_app_browser, webview, container |
//
// A missing column leaves its class unlabelled. Values are those of the specification, or common names for them:
// `smartphone`, `phablet` and `feature phone` are mobile, `pc` and `laptop` are desktop, other kinds of device (tv, console,
// watch) are "". `Mobile Safari` is safari, `Chrome WebView` is chrome, `Samsung Internet` is samsung, and a browser with
// another name is `other`. in_app may be true or false in a list without app names.
import { readFileSync } from "node:fs"

export interface LabelledAgent {
  readonly ua: string
  readonly device_type?: string
  readonly browser?: string
  readonly in_app?: string | boolean
}
export type UserAgentFixture = readonly LabelledAgent[]

const columns = {
  ua: ["ua", "useragent", "agent", "string"],
  device_type: ["devicetype", "device", "devicecategory", "type", "formfactor"],
  browser: ["browser", "browserfamily", "family", "browsername"],
  in_app: ["inapp", "app", "inappbrowser", "webview", "container"],
} as const

type Fields = Readonly<Record<string, unknown>>

/** Throws an Error with the missing part of the file. */
export function readUserAgents(file: string | URL): UserAgentFixture {
  const name = String(file)
  const rows = rowsOf(name, readFileSync(file, "utf8").replace(/^\uFEFF/, ""))
  if (rows.length === 0) throw new Error(`${name}: it holds no user agents.`)
  return rows.map((row, index) => agentOf(row, `${name}: entry ${index + 1}`))
}

function agentOf(row: Fields, where: string): LabelledAgent {
  const byName = new Map(Object.entries(row).map(([column, value]) => [column.toLowerCase().replace(/[^a-z]/g, ""), value]))
  const of = (what: keyof typeof columns) => columns[what].map((column) => byName.get(column)).find((value) => value !== undefined)
  const ua = of("ua")
  if (typeof ua !== "string") {
    throw new Error(
      `${where} has no user agent; it is read from ua, user_agent, useragent, agent or string, and there is ${Object.keys(row).join(", ") || "nothing"}.`,
    )
  }
  const device = textOf(of("device_type"))
  const browser = textOf(of("browser"))
  const inApp = of("in_app")
  return {
    ua,
    ...(device === undefined ? {} : { device_type: deviceOf(device) }),
    ...(browser === undefined ? {} : { browser: familyOf(browser) }),
    ...(inApp === undefined ? {} : { in_app: appOf(inApp) }),
  }
}

function textOf(value: unknown): string | undefined {
  if (value === undefined) return undefined
  return value === null ? "" : String(value).trim().toLowerCase()
}

function deviceOf(label: string): string {
  if (/^(?:mobile|smart ?phone|phone|phablet|feature phone|mobile ?phone|handset)$/.test(label)) return "mobile"
  if (/^(?:desktop|pc|computer|laptop|notebook)$/.test(label)) return "desktop"
  return label === "tablet" ? label : ""
}

function familyOf(label: string): string {
  const name = label.replace(/^(?:mobile|microsoft|headless|google) ?/, "")
  if (name === "") return ""
  return (
    ["chrome", "safari", "firefox", "edge", "samsung", "opera"].find((family) => name.startsWith(family)) ??
    (name === "chromium" ? "chrome" : "other")
  )
}

function appOf(value: unknown): string | boolean {
  if (typeof value === "boolean") return value
  const text = textOf(value) ?? ""
  if (text === "true" || text === "false") return text === "true"
  return appsByOtherNames[text] ?? text.replaceAll(" ", "-")
}

const appsByOtherNames: Readonly<Record<string, string>> = {
  "facebook messenger": "messenger",
  "facebook messenger lite": "messenger",
  "facebook lite": "facebook",
  "google search app": "google",
  "microsoft bing": "bing",
  "baidu box app": "baidu",
  "sina weibo": "weibo",
  x: "twitter",
}

function rowsOf(name: string, text: string): Fields[] {
  const first = text.trimStart()[0]
  if (first === "[") return objectsOf(name, parsed(name, text))
  if (first === "{") {
    const lines = text.split("\n").filter((line) => line.trim() !== "")
    const oneALine = lines.length > 1 && /}\s*$/.test(lines[0] ?? "")
    if (oneALine)
      return objectsOf(
        name,
        lines.map((line, index) => parsed(`${name}: line ${index + 1}`, line)),
      )
    const whole = parsed(name, text) as Fields
    return objectsOf(name, Object.values(whole).find(Array.isArray) ?? [whole])
  }
  return tableOf(text)
}

function parsed(where: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new Error(`${where}: it is not JSON.`, { cause })
  }
}

function objectsOf(name: string, list: unknown): Fields[] {
  const all = list as unknown[]
  const wrong = all.findIndex((entry) => typeof entry !== "object" || entry === null || Array.isArray(entry))
  if (wrong >= 0) throw new Error(`${name}: entry ${wrong + 1} is not an object with a user agent and labels.`)
  return all as Fields[]
}

/** Fields separated by commas or tabs, depending on the header. */
function tableOf(text: string): Fields[] {
  const separator = (text.split("\n", 1)[0] ?? "").includes("\t") ? "\t" : ","
  const lines: (string | undefined)[][] = [[]]
  const field = new RegExp(`(?:"((?:[^"]|"")*)"|([^"${separator}\\r\\n]*))(${separator}|\\r?\\n|$)`, "gy")
  for (let match = field.exec(text); match; match = field.exec(text)) {
    const [whole, quoted, plain = "", end] = match
    lines.at(-1)?.push(quoted === undefined ? plain || undefined : quoted.replaceAll('""', '"'))
    if (end !== separator) lines.push([])
    if (whole === "" || field.lastIndex >= text.length) break
  }
  const [header = [], ...rows] = lines.filter((line) => line.some((value) => value !== undefined))
  return rows.map((row) => Object.fromEntries(header.map((column, index) => [column ?? "", row[index]])))
}
