// The version of the interface, as the OpenAPI document and MCP name it.

/** Specification, part 9. */
export const interfaceVersion = "2026-09-29"
