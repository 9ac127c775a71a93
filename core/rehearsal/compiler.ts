// The compiler of a service, without the service: configured plugins, and the sandbox's compiler in a child process. Opens no
// store and no port.
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
  /** The parsed value. Undefined for an invalid text. */
  readonly document: unknown
}

export interface LocalCompiler {
  readonly declarations: Declarations
  compile(text: string): Promise<CompiledText>
  /** Returns cross-document findings for each file, in the order of the files. */
  across(files: readonly FileAmongOthers[]): Finding[][]
  stop(): Promise<void>
}

export interface LocalCompilerArgs {
  readonly config: CoreConfig
  readonly root: string
  /** Environment variables. MILLRACE_ORGANIZATION is the organization of the documents. */
  readonly env: NodeJS.ProcessEnv
}

/** Throws BootError if plugins are refused. */
export async function openCompiler({ config, root, env }: LocalCompilerArgs): Promise<LocalCompiler> {
  return compilerFor(await loadDeclarations({ config, root }), config, env["MILLRACE_ORGANIZATION"] || undefined)
}

/** `organization`: slug of the documents' organization. Without it, datasets of any organization are accepted. */
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
