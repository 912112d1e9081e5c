import { spawn } from 'node:child_process'
import type { PendingApproval } from '@toolcrib/gateway'
import type { Terminal } from '../terminal/terminal.ts'

/** Runs the `on_ask` command of the config for a call that waits, with the call as JSON on its standard input. */
export function notifier(
  command: () => string | undefined,
  { warn, env, cwd }: Pick<Terminal, 'warn' | 'env' | 'cwd'>,
): (pending: PendingApproval) => void {
  return (pending) => {
    const line = command()
    if (line === undefined) return
    const child = spawn(line, { shell: true, env, cwd, stdio: ['pipe', 'ignore', 'ignore'] })
    const fail = (reason: string) => warn(`on_ask ${reason}, so nobody was told of ${pending.id}`)
    child.on('error', (error) => fail(`could not be run: ${error.message}`))
    child.on('exit', (code) => void (code === 0 || fail(`ended with exit code ${code}`)))
    child.stdin.on('error', () => {})
    child.stdin.end(`${JSON.stringify(pending)}\n`)
    child.unref()
  }
}
