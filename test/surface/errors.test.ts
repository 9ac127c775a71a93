// Error codes, compared in both directions: thrown and declared codes, codes of the types, and documented codes.
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { exitCodeOf } from "../../core/cli/operations/problem.ts"
import { httpStatusOf } from "../../core/kernel/errors.ts"
import { ErrorSchema, errorMeanings } from "../../core/surface/openapi/components.ts"
import { openApi } from "../../core/surface/openapi.ts"
import { projectRoot } from "../import-graph.ts"
import { shippedOperations } from "./parity/fixture.ts"

const typed = Object.keys(httpStatusOf)
const read = (file: string) => readFileSync(join(projectRoot, file), "utf8")

describe("error codes", () => {
  const sources = globSync("{core,plugins,client}/**/*.ts", { cwd: projectRoot })
  const thrown = new Set(
    sources.flatMap((file) => [...read(file).matchAll(/new (?:AppError|ClientError)\(\s*"(\w+)"/g)].map(([, code = ""]) => code)),
  )

  it("that are thrown are typed, and those that are typed are thrown", () => {
    expect([...thrown]).to.have.members(typed)
  })

  it("that are typed are explained, in the OpenAPI document, the reference and the command's exit codes, and no others", async () => {
    expect(ErrorSchema.shape.code.options).to.have.members(typed)
    expect(Object.keys(errorMeanings)).to.have.members(typed)
    expect(Object.keys(exitCodeOf)).to.have.members(typed)
    const rows = [...read("docs/reference/errors.md").matchAll(/^\| `(\w+)` \| (\d+) \| (\d+) \|/gm)].map(([, code, ...numbers]) => [
      code,
      ...numbers.map(Number),
    ])
    expect(rows).to.have.deep.members(
      Object.entries(httpStatusOf).map(([code, status]) => [code, status, exitCodeOf[code as keyof typeof exitCodeOf]]),
    )
    const document = openApi(await shippedOperations(), { serverUrl: "http://127.0.0.1", routes: [] }) as unknown as {
      components: { schemas: { Error: { properties: { code: { enum: string[]; description: string } } } } }
    }
    const { enum: documented, description } = document.components.schemas.Error.properties.code
    expect(documented).to.have.members(typed)
    for (const code of typed) expect(description).to.include(`- \`${code}\`: `)
  })

  it("that an operation declares are thrown somewhere, each once", async () => {
    for (const { name, errors } of await shippedOperations()) {
      expect(
        errors.filter((code) => !thrown.has(code)),
        name,
      ).to.deep.equal([])
      expect(new Set(errors).size, name).to.equal(errors.length)
    }
  })
})
