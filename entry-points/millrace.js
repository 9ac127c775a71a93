#!/usr/bin/env node
// The `millrace` command.
import "#millrace"
