// Thrown by checks of a request. `guardCheck` converts it to a verdict.
export class Refused extends Error {
  readonly word: string

  constructor(word: string, message: string) {
    super(message)
    this.word = word
  }
}
