// How verification says no: code that reads or checks a request throws this, and `guardCheck` turns it into a verdict.
export class Refused extends Error {
  readonly word: string

  constructor(word: string, message: string) {
    super(message)
    this.word = word
  }
}
