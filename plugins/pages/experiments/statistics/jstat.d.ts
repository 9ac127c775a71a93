// Types of the jstat functions in use. The package has no types.
declare module "jstat" {
  interface Distributions {
    gammaln(x: number): number
    betaln(a: number, b: number): number
    readonly normal: { inv(level: number, mean: number, deviation: number): number }
    readonly studentt: { inv(level: number, degrees: number): number }
  }
  const jstat: { readonly jStat: Distributions }
  export default jstat
}
