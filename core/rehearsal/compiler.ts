// The compiler as a service has it, without one: plugins as configured, and the sandbox's own compiler in a child
// process. Nothing is opened, stored or listened on.
import { authFacts } from "../bootstrap/auth-facts.ts"
import { type Declarations, loadDeclarations } from "../bootstrap/plugins.ts"
import { CrossDocumentRules } from "../contract/lint-rule.ts"
import type { CoreConfig } from "../kernel/config.ts"
import { type CompileEnvironment, compileText, declared } from "../pipeline/compile.ts"
import type { Compilation } from "../pipeline/engine.ts"
import type { Finding } from "../pipeline/findings.ts"
import { type FileAmongOthers, findingsAcross } from "../pipeline/lint/across.ts"
import { sharedSandbox } from "../pipeline/sandbox/shared-sandbox.ts"

export interface CompiledText {
  readonly compilation: Compilation
  /** The value that was read; undefined for an invalid text. */
  readonly document: unknown
}

export interface LocalCompiler {
  readonly declarations: Declarations
  compile(text: string): Promise<CompiledText>
  /** Findings for each file that it has only beside the others, in the order of the files. */
  across(files: readonly FileAmongOthers[]): Finding[][]
  stop(): Promise<void>
}

export interface LocalCompilerArgs {
  readonly config: CoreConfig
  readonly root: string
  /** Variables; MILLRACE_ORGANIZATION names the organization that the documents are for. */
  readonly env: NodeJS.ProcessEnv
}

/** Throws BootError where plugins are refused. */
export async function openCompiler({ config, root, env }: LocalCompilerArgs): Promise<LocalCompiler> {
  return compilerFor(await loadDeclarations({ config, root }), config, env["MILLRACE_ORGANIZATION"] || undefined)
}

/** `organization` is the slug that the documents are for; without one, datasets of any are taken. */
export function compilerFor(declarations: Declarations, config: CoreConfig, organization?: string): LocalCompiler {
  const sandbox = sharedSandbox(config.sandbox)
  const environment: CompileEnvironment = {
    ...declared(declarations.registry),
    authFacts,
    compileProgram: (source) => sandbox.compile({ ...source, organization: organization ?? "" }),
    ...(organization === undefined ? {} : { organizationSlug: organization }),
  }
  return {
    declarations,
    compile: (text) => compileText(text, environment, { refuseLiteralSecrets: true }),
    across: (files) => findingsAcross(files, declarations.registry.items(CrossDocumentRules)),
    stop: () => sandbox.stop(),
  }
}
