// Isolates of a run child, one per pipeline. The least recently used isolate is evicted. Each isolate is sealed before foreign
// code enters.
import ivm from "isolated-vm"

export interface ProgramText {
  readonly validator: string
  readonly transform: string
}

export interface Runner {
  readonly isolate: ivm.Isolate
  readonly digest: string
  readonly run: ivm.Reference<(batch: string) => string>
  readonly finished: ivm.Reference<() => string>
  readonly lines: ivm.Reference<() => string>
}

export interface IsolateOptions {
  readonly bundle: string
  readonly memoryMb: number
  readonly most: number
  readonly shared: SharedArrayBuffer
  /** Limit for the top level of a program, which contains no calls. */
  readonly timeoutMs: number
}

export class Isolates {
  readonly #options: IsolateOptions
  /** In order of use, least recent first. */
  readonly #runners = new Map<string, Runner>()

  constructor(options: IsolateOptions) {
    this.#options = options
  }

  /** Returns the pipeline's live runner of this program, if present. */
  find(key: string, digest: string): Runner | undefined {
    const runner = this.#runners.get(key)
    if (!runner) return undefined
    if (runner.isolate.isDisposed || runner.digest !== digest) {
      this.drop(key)
      return undefined
    }
    this.#runners.delete(key)
    this.#runners.set(key, runner)
    return runner
  }

  /** Creates and disposes an isolate, to load everything that loads lazily. */
  rehearse(): void {
    const { isolate } = this.#sealed()
    isolate.dispose()
  }

  /** Rejects if the program's top level throws or takes too long. */
  async make(key: string, digest: string, program: ProgramText): Promise<Runner> {
    const { timeoutMs } = this.#options
    this.#evict()
    const { isolate, context, prepare } = this.#sealed()
    try {
      const factory = async (text: string, filename: string) =>
        text === "" ? null : ((await context.eval(text, { reference: true, filename, timeout: timeoutMs })) as ivm.Reference).derefInto()
      const validators = await factory(program.validator, "schema.js")
      const transform = await factory(program.transform, "transform.js")
      const runner = (await prepare.apply(undefined, [validators, transform], {
        result: { reference: true },
        timeout: timeoutMs,
      })) as ivm.Reference<{ run(batch: string): string; finished(): string; lines(): string }>
      const made = {
        isolate,
        digest,
        run: await runner.get("run", { reference: true }),
        finished: await runner.get("finished", { reference: true }),
        lines: await runner.get("lines", { reference: true }),
      }
      this.#runners.set(key, made)
      return made
    } catch (error) {
      if (!isolate.isDisposed) isolate.dispose()
      throw error
    }
  }

  drop(key: string): void {
    const runner = this.#runners.get(key)
    this.#runners.delete(key)
    if (runner && !runner.isolate.isDisposed) runner.isolate.dispose()
  }

  /** Creates an isolate with only our own code in it. */
  #sealed(): { isolate: ivm.Isolate; context: ivm.Context; prepare: ivm.Reference<(validators: unknown, transform: unknown) => unknown> } {
    const { bundle, memoryMb, shared } = this.#options
    const isolate = new ivm.Isolate({ memoryLimit: memoryMb })
    const context = isolate.createContextSync()
    const prepare = context.evalClosureSync(
      `${bundle};millraceIsolate.seal($0);return millraceIsolate.prepare`,
      [new ivm.ExternalCopy(shared).copyInto()],
      { result: { reference: true }, filename: "millrace.js" },
    ) as ivm.Reference<(validators: unknown, transform: unknown) => unknown>
    return { isolate, context, prepare }
  }

  #evict(): void {
    for (const key of this.#runners.keys()) {
      if (this.#runners.size < this.#options.most) return
      this.drop(key)
    }
  }
}
