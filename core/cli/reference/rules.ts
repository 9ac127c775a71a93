// docs/rules: a page for each lint rule with its text, and the compiler's findings for its examples.
import { join } from "node:path"
import { type Declarations, frameworkRoot } from "../../bootstrap/plugins.ts"
import { Actions, type AnyAction } from "../../contract/action.ts"
import { type CrossDocumentRule, CrossDocumentRules, type LintRule } from "../../contract/lint-rule.ts"
import { loadConfig } from "../../kernel/config.ts"
import { Dedupe, PipelineDocument, Retry } from "../../pipeline/document.ts"
import { codeFrame, rules as compilerRules, type Finding } from "../../pipeline/findings.ts"
import { parseText } from "../../pipeline/parse.ts"
import { compilerFor, type LocalCompiler } from "../../rehearsal/compiler.ts"
import { byName, example, fenced, fieldsOf, fieldTable, generatedNote, pageOf, table } from "../markdown.ts"

export interface NamedRule extends LintRule {
  readonly id: string
  /** The action type of the rule. Undefined for a compiler rule. */
  readonly action: string | undefined
}

/** Rules of the compiler, of action types and of plugins, by name. */
export function allRules(actions: readonly AnyAction[], crossDocument: readonly CrossDocumentRule[]): NamedRule[] {
  const own = Object.entries<LintRule>(compilerRules).map(([id, rule]) => ({ ...rule, id, action: undefined }))
  const theirs = actions.flatMap(({ type, rules = {} }) =>
    Object.entries<LintRule>(rules).map(([id, rule]) => ({ ...rule, id, action: type })),
  )
  const across = crossDocument.map((rule) => ({ ...rule, action: undefined }))
  return byName([...own, ...theirs, ...across], ({ id }) => id)
}

/** Returns texts by path. The examples are compiled as documents of an organization "acme". */
export async function rulePages(declarations: Declarations): Promise<Record<string, string>> {
  const { config } = loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: {} })
  const rules = allRules(declarations.registry.items(Actions), declarations.registry.items(CrossDocumentRules))
  const compiler = compilerFor(declarations, config, "acme")
  try {
    const pages: Record<string, string> = { "docs/rules/README.md": indexPage(rules) }
    for (const rule of rules) pages[`docs/rules/${rule.id}.md`] = await page(rule, compiler)
    return pages
  } finally {
    await compiler.stop()
  }
}

function indexPage(rules: readonly NamedRule[]): string {
  const rows = rules.map(({ id, level, summary, action }) => [
    `[${id}](${id}.md)`,
    level,
    action === undefined ? "" : `\`${action}\``,
    summary,
  ])
  return pageOf([
    "# Lint rules",
    generatedNote("`core/pipeline/rules/rules.json` and the `rules` of actions"),
    "The rules that `millrace pipelines validate` and every save check. Errors refuse the document, warnings do not.",
    table(["rule", "", "action", ""], rows),
  ])
}

async function page(rule: NamedRule, compiler: LocalCompiler): Promise<string> {
  const { id, level, summary, why, remedy, bad, good, action } = rule
  return pageOf([
    `# ${id}`,
    generatedNote(action === undefined ? "the rules in `core/pipeline/lint`" : `the rules of \`${action}\``),
    `**${level === "error" ? "Error" : "Warning"}**${action === undefined ? "" : ` of \`${action}\``}. ${summary}`,
    why,
    `**What to do.** ${remedy}`,
    "## Found in",
    ...documentsOf(bad).map((text) => fenced("yaml", text)),
    fenced("", await said(bad, compiler)),
    "## Not in",
    ...documentsOf(good).map((text) => fenced("yaml", text)),
  ])
}

/** Returns the example's documents, each with its own name. */
function documentsOf(example: string): string[] {
  return example.split(/^---$\n/m).map((fields, index) => `name: Example${index === 0 ? "" : ` ${index + 1}`}\n${fields.trimEnd()}\n`)
}

/** Returns the compiler's findings for an example's documents, including cross-document findings. */
export async function findingsOf(example: string, compiler: LocalCompiler): Promise<{ text: string; finding: Finding }[]> {
  const texts = documentsOf(example)
  const compiled = await Promise.all(texts.map((text) => compiler.compile(text)))
  const across = compiler.across(
    compiled.map(({ compilation, document }, index) => ({
      path: `example-${index + 1}.yaml`,
      document,
      graph: compilation.ok ? compilation.graph : undefined,
    })),
  )
  return compiled.flatMap(({ compilation }, index) => {
    const text = texts[index] ?? ""
    const { locate } = parseText(text)
    const placed = (across[index] ?? []).map((finding) => ({ ...finding, ...locate(finding.pointer) }))
    return [...compilation.findings, ...placed].map((finding) => ({ text, finding }))
  })
}

async function said(example: string, compiler: LocalCompiler): Promise<string> {
  return (await findingsOf(example, compiler))
    .map(
      ({ text, finding: { line = 1, column = 1, level, rule, message } }) =>
        `${line}:${column} ${level} ${rule}\n  ${message}\n\n${codeFrame(text, { line, column })}`,
    )
    .join("\n\n")
}

/**
 * docs/reference/pipeline.md: the fields of a pipeline document, with an example document. The page's test validates the example.
 */
export function pipelineReference(): string {
  return pageOf([
    generatedNote("the document's schema"),
    "# The document of a pipeline",
    "YAML or JSON, in a file under `pipelines/` or sent to the API. Only `name` is required. Editors complete and check it with the schema that `npx millrace schema` prints; the [lint rules](../rules/README.md) say what is refused, and why.",
    fieldTable(fieldsOf(PipelineDocument)),
    "The fields of `auth_config` are on the [auth mode's page](auth-modes.md), those of a step on its [action's page](actions.md), with the [fields of every action](actions.md#fields-of-every-action).",
    "## dedupe",
    fieldTable(fieldsOf(Dedupe)),
    "## retry",
    "The retry policy of a step: exponential backoff with full jitter.",
    fieldTable(fieldsOf(Retry)),
    "## Example",
    fenced("yaml", example("order.yaml")),
    fenced("sh", "npx millrace pipelines validate pipelines/order.yaml"),
    fenced("text", "1 file, 0 errors, 0 warnings"),
  ])
}
