// Everything the loaded plugins have declared, for code that lists or looks up declarations at run time.
import { token } from "../kernel/di.ts"
import type { Registry } from "../kernel/registry.ts"

/** What all plugins declared, by kind. */
export type Declarations = Registry

export const Declarations = token<Declarations>("Declarations")
