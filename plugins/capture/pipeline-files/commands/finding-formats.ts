// Formats findings as text with code frames, as JSON, as SARIF 2.1.0 for code scanning, and as GitHub workflow commands. GitHub
// shows the last on the lines of a pull request.
import { styleText } from "node:util"
import { rules } from "#core/engine"
import type { CheckedFile, PlacedFinding } from "./validate.ts"

export type FindingFormat = "text" | "json" | "sarif" | "github"

export function formatFindings(files: readonly CheckedFile[], format: FindingFormat): string {
  if (format === "json") return JSON.stringify({ ok: files.every((file) => file.ok), ...countsOf(files), files }, null, 2)
  if (format === "sarif") return JSON.stringify(sarif(files), null, 2)
  return format === "github" ? github(files) : text(files)
}

function countsOf(files: readonly CheckedFile[]): { errors: number; warnings: number } {
  const all = files.flatMap((file) => file.findings)
  const errors = all.filter((finding) => finding.level === "error").length
  return { errors, warnings: all.length - errors }
}

function text(files: readonly CheckedFile[]): string {
  const blocks = files.flatMap(({ path, findings }) => findings.map((finding) => block(path, finding)))
  const { errors, warnings } = countsOf(files)
  const counts = [counted(files.length, "file"), counted(errors, "error"), counted(warnings, "warning")].join(", ")
  return [...blocks, errors > 0 ? styleText("red", counts) : styleText("green", counts)].join("\n\n")
}

function block(path: string, { line, column, level, rule, message, pointer, frame }: PlacedFinding): string {
  const colour = level === "error" ? "red" : "yellow"
  const place = `${styleText("bold", `${path}:${line}:${column}`)} ${styleText(colour, level)} ${rule}`
  const indented = frame.replace(/^/gm, "  ")
  return [place, `  ${message}${pointer ? styleText("dim", `  (${pointer})`) : ""}`, "", indented].join("\n")
}

function github(files: readonly CheckedFile[]): string {
  const lines = files.flatMap(({ path, findings }) =>
    findings.map(({ line, column, level, rule, message }) => {
      const at = `file=${property(path)},line=${line},col=${column},title=${property(rule)}`
      return `::${level} ${at}::${message.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A")}`
    }),
  )
  const { errors, warnings } = countsOf(files)
  return [...lines, `${counted(files.length, "file")}, ${counted(errors, "error")}, ${counted(warnings, "warning")}`].join("\n")
}

function property(value: string): string {
  return value.replaceAll("%", "%25").replaceAll("\n", "%0A").replaceAll(":", "%3A").replaceAll(",", "%2C")
}

/** https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html */
function sarif(files: readonly CheckedFile[]) {
  const used = [...new Set(files.flatMap((file) => file.findings.map((finding) => finding.rule)))].sort()
  const known = rules as Readonly<Record<string, { summary: string; why: string; remedy: string } | undefined>>
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "millrace",
            rules: used.map((id) => {
              const rule = known[id]
              return {
                id,
                ...(rule && { shortDescription: { text: rule.summary }, fullDescription: { text: rule.why }, help: { text: rule.remedy } }),
              }
            }),
          },
        },
        results: files.flatMap(({ path, findings }) =>
          findings.map(({ rule, level, message, line, column, pointer }) => ({
            ruleId: rule,
            ruleIndex: used.indexOf(rule),
            level,
            message: { text: message },
            locations: [
              {
                physicalLocation: {
                  artifactLocation: { uri: path.replaceAll("\\", "/") },
                  region: { startLine: line, startColumn: column },
                },
                ...(pointer && { logicalLocations: [{ fullyQualifiedName: pointer }] }),
              },
            ],
          })),
        ),
      },
    ],
  }
}

export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`
}
