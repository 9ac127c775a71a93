// The package has no types.
declare module "punycode/punycode.es6.js" {
  export function decode(text: string): string
  export function encode(text: string): string
}
