// `millrace/engine`: what plugins may import that drive pipelines.
export * from "#core/engine"
