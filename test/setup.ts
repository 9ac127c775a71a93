// Before any test: what was expected and what came is shown whole, however long.
import { config } from "chai"

config.truncateThreshold = 0
