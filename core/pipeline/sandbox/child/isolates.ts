// The isolates of a run child: one a pipeline, least recently used evicted, each sealed before foreign code is in.
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
}

export interface IsolateOptions {
  readonly bundle: string
  readonly memoryMb: number
  readonly most: number
  readonly shared: SharedArrayBuffer
  /** For a program's own top level, which holds no calls. */
  readonly timeoutMs: number
}

export class Isolates {
  readonly #options: IsolateOptions
  /** In order of use, least recent first. */
  readonly #runners = new Map<string, Runner>()

  constructor(options: IsolateOptions) {
    this.#options = options
  }

  /** The pipeline's runner of this program, if it is in and alive. */
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

  make(key: string, digest: string, program: ProgramText): Runner {
    const { bundle, memoryMb, shared, timeoutMs } = this.#options
    this.#evict()
    const isolate = new ivm.Isolate({ memoryLimit: memoryMb })
    try {
      const context = isolate.createContextSync()
      const prepare = context.evalClosureSync(
        `${bundle};millraceIsolate.seal($0);return millraceIsolate.prepare`,
        [new ivm.ExternalCopy(shared).copyInto()],
        {
          result: { reference: true },
          filename: "millrace.js",
        },
      ) as ivm.Reference<(validators: unknown, transform: unknown) => unknown>
      const factory = (text: string, filename: string) =>
        text === "" ? null : (context.evalSync(text, { reference: true, filename, timeout: timeoutMs }) as ivm.Reference).derefInto()
      const runner = prepare.applySync(undefined, [factory(program.validator, "schema.js"), factory(program.transform, "transform.js")], {
        result: { reference: true },
        timeout: timeoutMs,
      }) as ivm.Reference<{ run(batch: string): string; finished(): string }>
      const made = {
        isolate,
        digest,
        run: runner.getSync("run", { reference: true }),
        finished: runner.getSync("finished", { reference: true }),
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

  #evict(): void {
    for (const key of this.#runners.keys()) {
      if (this.#runners.size < this.#options.most) return
      this.drop(key)
    }
  }
}
