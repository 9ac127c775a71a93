// `millrace`: what plugins may import. In the repository it leads to the sources, in the package to what was built of
// them: `npm pack` puts a package.json beside this file whose `imports` say so (build/package.ts).
export * from "#core"
