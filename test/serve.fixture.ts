import { type ChildProcess, execFileSync, type SpawnOptions, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach } from 'vitest'
import type { useCommandLine } from './cli-folder.fixture.ts'

/** Starts gateways as processes of their own, and ends those that still run when a test is over. */
export function useServe({ start }: Pick<ReturnType<typeof useCommandLine>, 'start'>) {
  const gateways: ChildProcess[] = []
  afterEach(async () => {
    for (const child of gateways.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'close')
    }
  })

  /** Runs `toolcrib serve`, on a free port unless the flags name one, and returns what it announces. */
  return async (flags: readonly string[] = [], options: SpawnOptions = {}) => {
    const { child, ended } = start(['serve', '--port', '0', '--json', ...flags], options)
    gateways.push(child)
    if (!child.stdout) throw new Error('the gateway has no output')
    const line = once(createInterface({ input: child.stdout }), 'line').then(([text]) => JSON.parse(text))
    const failed = ended.then(({ stderr }) => {
      throw new Error(`the gateway ended: ${stderr}`)
    })
    return { child, ended, ...(await Promise.race([line, failed])) }
  }
}

/** The operator's token, which the address of the page has in its fragment. */
export function operatorTokenOf(page: string): string {
  return new URL(page).hash.slice('#token='.length)
}

/** Every process below one; with `program`, only those that run it: a server that cannot start is a shell for a moment. */
export function childrenOf(pid: number | undefined, program = ''): number[] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], {
    encoding: 'utf8',
    maxBuffer: 10_000_000,
  })
    .trim()
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s*(.*)$/.exec(line) ?? [])
    .map(([, own, of, args = '']) => ({ own: Number(own), of: Number(of), args }))
  const below = (parent: number | undefined): typeof rows =>
    rows.flatMap((row) => (row.of === parent ? [row, ...below(row.own)] : []))
  return below(pid)
    .filter(({ args }) => args.startsWith(program))
    .map(({ own }) => own)
}

/** Whether a process runs. One that has ended is not gone before its parent, this process, has noticed. */
export function isRunning(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
  return /^\s*[^Z\s]/.test(stdout)
}
