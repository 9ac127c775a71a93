// The API reference for people, at `/docs`. Rendered from the OpenAPI document into one complete response. The style and script
// beside this file are inlined and allowed by their hashes. The page loads no external resource.
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { Html, html } from "../../kernel/html.ts"
import type { ServedDocument } from "../http/open-document.ts"
import type { JsonObject } from "../wire-schema.ts"
import { type OperationView, operationArticle, sharedParts } from "./operation-article.ts"
import { prose, type Resolve } from "./schema-fields.ts"

const asset = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8")
const style = asset("./page.css")
const script = asset("./page-script.js")
const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

const policy = [
  "default-src 'none'",
  `style-src ${hashOf(style)}`,
  `script-src ${hashOf(script)}`,
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

/** Calls `document` once. */
export function docsPage(document: () => JsonObject): ServedDocument {
  let text: string | undefined
  return {
    contentType: "text/html; charset=utf-8",
    headers: { "Content-Security-Policy": policy, "Referrer-Policy": "no-referrer" },
    text: () => (text ??= render(document())),
  }
}

function render(document: JsonObject): string {
  const info = document["info"] as { title: string; version: string; description: string }
  const server = (document["servers"] as { url: string }[])[0]?.url ?? ""
  const operations = operationsOf(document)
  const tags = (document["tags"] as { name: string; description: string }[]).map((tag) => ({
    ...tag,
    operations: operations.filter((operation) => operation.tag === tag.name),
  }))
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} API ${info.version}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
</head>
<body>
<header>
<a class="brand" href="#top">${info.title} <small>${info.version}</small></a>
<label>API key <input id="key" type="password" autocomplete="off" placeholder="mr_api_… (stays in this page)"></label>
<a href="/openapi.json">openapi.json</a>
</header>
<nav aria-label="Operations">
<input id="filter" type="search" placeholder="Filter operations" aria-label="Filter operations">
${tags.map(({ name, operations: inTag }) => html`<section><h2>${name.replaceAll("_", " ")}</h2>${inTag.map(link)}</section>`)}
</nav>
<main id="top">
<h1>${info.title} API</h1>
<p>Base address <code>${server}</code></p>
${prose(info.description)}
${sharedParts(document["components"] as Record<string, Record<string, JsonObject>>, resolverOf(document))}
${tags.map(({ name, operations: inTag }) => html`<section class="tag"><h2>${name.replaceAll("_", " ")}</h2>${inTag.map(operationArticle)}</section>`)}
</main>
<script>${new Html(script)}</script>
</body>
</html>
`.text
}

function link({ id, method, summary, path }: OperationView): Html {
  return html`<a href="#${id}" title="${path}: ${summary}" data-find="${`${id} ${path} ${summary}`.toLowerCase()}"><span class="method ${method}">${method}</span>${id.slice(id.indexOf(".") + 1).replaceAll("_", " ")}</a>`
}

function resolverOf(document: JsonObject): Resolve {
  return (reference) =>
    reference
      .slice(2)
      .split("/")
      .reduce<unknown>((value, step) => (value as JsonObject | undefined)?.[step], document) as JsonObject | undefined
}

function operationsOf(document: JsonObject): OperationView[] {
  const paths = document["paths"] as Record<string, Record<string, JsonObject>>
  const resolve = resolverOf(document)
  const methods = ["get", "post", "put", "patch", "delete"]
  return Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const entry = item[method]
      if (!entry) return []
      return [
        {
          id: String(entry["operationId"]),
          tag: String((entry["tags"] as string[])[0]),
          method: method.toUpperCase(),
          path,
          summary: String(entry["summary"]),
          entry,
          resolve,
        },
      ]
    }),
  )
}
