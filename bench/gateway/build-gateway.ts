import { execFileSync } from 'node:child_process'

let isBuilt = false

/** Builds the gateway as it is shipped, once for all benchmarks of a run. */
export function buildGateway(): void {
  if (!isBuilt) execFileSync('npm', ['run', '--silent', 'prestart'], { stdio: 'inherit' })
  isBuilt = true
}
