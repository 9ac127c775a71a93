// For the official MCP client: compiles the schema of a tool's answer when the tool has answered. By itself the client
// compiles those of all tools at its first call, which takes longer than the calls of a test.
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
