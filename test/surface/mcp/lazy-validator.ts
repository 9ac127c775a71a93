// Compiles the schema of a tool's answer after its first answer, for the official MCP client. By default the client compiles the
// schemas of all tools at its first call, and that takes longer than a test's calls.
import type { JsonSchemaValidator, jsonSchemaValidator } from "@modelcontextprotocol/client"
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv"

export const lazyValidator: jsonSchemaValidator = {
  getValidator<T>(schema: Parameters<AjvJsonSchemaValidator["getValidator"]>[0]) {
    let made: JsonSchemaValidator<T> | undefined
    return (input) => {
      made ??= new AjvJsonSchemaValidator().getValidator<T>(schema)
      return made(input)
    }
  },
}
