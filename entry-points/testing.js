// `millrace/testing`: what tests of plugins may import.
export * from "#core/testing"
