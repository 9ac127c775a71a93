// `millrace`: what plugins may import.
export * from "#core"
