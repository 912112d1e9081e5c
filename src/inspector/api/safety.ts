import { changeDigest, type LockChange } from 'toolcrib/mcp'
import type { Inspection } from '../inspection.ts'
import { invalid, reading, texts, writing } from './route.ts'

/** A change with the `name@digest` that approves only this change. */
export type NamedChange = LockChange & {
  readonly pattern: string
  /** Approves a server in a terminal: a web page must not decide what runs on a machine. */
  readonly command?: string
}

/** What changed since it was approved, what the scanner found, and what the lockfiles cover. */
export const safety = reading({}, async (inspection) => {
  const { servers, config } = inspection
  const { changes, isLocked } = await readChanges(inspection)
  const found = await config?.found()
  const lockfile = found?.lockfile
  const coverage = servers.status().map(({ server, state }) => {
    const locked = lockfile?.servers.get(server)
    return {
      server,
      /** Its list comes from the cache, and is compared again when it starts. */
      isAsleep: state === 'cold',
      state: locked ? 'locked' : lockfile?.exempt?.has(server) || !isLocked ? 'open' : 'missing',
      approved: locked?.tools.size ?? 0,
      listed: servers.tools(server)?.length ?? null,
    }
  })
  return {
    lockCommand: (await inspection.commandLine()).of('lock', ...(config?.lockOption ?? [])),
    isLocked,
    canApprove: config !== undefined && isLocked,
    changes: await Promise.all(changes.map((change) => withCommand(inspection, change))),
    findings: servers.findings(),
    coverage,
    lockPath: found?.lockPath ?? null,
    warnings: found?.warnings ?? [],
  }
})

async function withCommand(inspection: Inspection, change: NamedChange): Promise<NamedChange> {
  if ('tool' in change) return change
  const commandLine = await inspection.commandLine(change.server)
  return {
    ...change,
    command: commandLine.of('approve', approvalOf(change), ...(inspection.config?.lockOption ?? [])),
  }
}

/**
 * An HTTP server may require a sign-in before it lists its tools, and is started only once it is approved: so its
 * address is approved first, by digest, and its tools afterwards.
 */
function approvalOf(change: NamedChange): string {
  const isRemote = 'fields' in change && change.fields.some(({ path }) => path === 'url')
  return isRemote ? change.pattern : change.server
}

/** Approves the changes that the user has seen: each pattern is a `name@digest`. */
export const approve = writing({ patterns: texts }, async (inspection, { patterns }) => {
  const { config } = inspection
  if (!config)
    throw invalid('this gateway was opened without a config file; run "toolcrib approve <names>" instead')
  if (!patterns.every((pattern) => /@[0-9a-f]{16}$/.test(pattern)))
    throw invalid('each change is approved by its digest: name@0123456789abcdef')
  if ((await config.found()).lockfile === undefined)
    throw invalid(
      `there is no lockfile; write one with: ${(await inspection.commandLine()).of('lock', ...config.lockOption)}`,
    )
  const approved = await config.approve(patterns)
  return { approved: approved.length, ...(await readChanges(inspection)) }
})

export async function readChanges({ config }: Inspection): Promise<{
  readonly isLocked: boolean
  readonly changes: readonly NamedChange[]
}> {
  const changes = await config?.changes()
  return { isLocked: changes !== undefined, changes: (changes ?? []).map(withPattern) }
}

function withPattern(change: LockChange): NamedChange {
  const name = 'tool' in change ? `${change.server}.${change.tool}` : change.server
  return { ...change, pattern: `${name}@${changeDigest(change)}` }
}
