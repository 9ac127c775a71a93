// All seeded faults.
import { erasureFaults } from "./erasure.ts"
import type { Fault } from "./fault.ts"
import { revisionFaults } from "./revisions.ts"
import { roleFaults } from "./roles.ts"
import { slugFaults } from "./slugs.ts"
import { wallFaults } from "./walls.ts"

export const faults: readonly Fault[] = [...wallFaults, ...roleFaults, ...revisionFaults, ...slugFaults, ...erasureFaults]
