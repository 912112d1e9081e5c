import { changeDigest, type LockChange } from '@toolcrib/mcp'
import type { Inspection } from '../inspection.ts'
import { asWritten } from './judged-text.ts'
import { flag, invalid, reading, texts, writing } from './route.ts'

/** A change with the `name@digest` that approves only this change. */
export type NamedChange = LockChange & {
  readonly pattern: string
  /** Approves a server in a terminal: a web page must not decide what runs on a machine. */
  readonly command?: string
  /** What a person has decided; undefined while it waits. It is held back in any case. */
  readonly settled?: 'rejected' | 'hidden'
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
      /** Its approval is older than lockfiles that cover instructions, prompts and resources. */
      isToolsOnly: locked !== undefined && locked.items === undefined,
      listed: servers.tools(server)?.length ?? null,
    }
  })
  return {
    lockCommand: (await inspection.commandLine()).of('lock', ...(config?.lockOption ?? [])),
    isLocked,
    canApprove: config !== undefined && isLocked,
    changes: await Promise.all(changes.map((change) => withCommand(inspection, change))),
    findings: servers.findings({ soFar: true }).map((finding) => asWritten(finding, servers)),
    coverage,
    lockPath: found?.lockPath ?? null,
    warnings: found?.warnings ?? [],
  }
})

async function withCommand(inspection: Inspection, change: NamedChange): Promise<NamedChange> {
  if ('name' in change) return change
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

/** Keeps changes that the user has seen in quarantine without asking again, or asks again. */
export const reject = writing(
  { patterns: texts, isRejected: flag },
  async ({ rejections }, { patterns, isRejected }) => {
    checkDigests(patterns)
    await (isRejected ? rejections.add(patterns) : rejections.remove(patterns))
    return {}
  },
)

/** Approves the changes that the user has seen: each pattern is a `name@digest`. */
export const approve = writing({ patterns: texts }, async (inspection, { patterns }) => {
  const { config } = inspection
  if (!config)
    throw invalid('this gateway was opened without a config file; run "toolcrib approve <names>" instead')
  checkDigests(patterns)
  if ((await config.found()).lockfile === undefined)
    throw invalid(
      `there is no lockfile; write one with: ${(await inspection.commandLine()).of('lock', ...config.lockOption)}`,
    )
  const approved = await config.approve(patterns)
  return { approved: approved.length, ...(await readChanges(inspection)) }
})

function checkDigests(patterns: readonly string[]): void {
  if (!patterns.every((pattern) => /@[0-9a-f]{16}$/.test(pattern)))
    throw invalid('each change is approved by its digest: name@0123456789abcdef')
}

/** The differences from the approval. A server that the config disables is no difference. */
export async function readChanges({ config, rejections }: Inspection): Promise<{
  readonly isLocked: boolean
  readonly changes: readonly NamedChange[]
}> {
  const changes = await config?.changes()
  if (!config || changes === undefined) return { isLocked: false, changes: [] }
  const { servers } = (await config.found()).config
  const [disabled, rejected] = await Promise.all([config.disabled(), rejections.all()])
  const settled = (change: NamedChange): NamedChange => {
    const isHidden = 'tool' in change && servers[change.server]?.deny?.includes(change.tool)
    if (isHidden) return { ...change, settled: 'hidden' }
    return rejected.has(change.pattern) ? { ...change, settled: 'rejected' } : change
  }
  const shown = changes.filter(({ kind, server }) => kind !== 'server-removed' || !disabled.includes(server))
  return { isLocked: true, changes: shown.map(withPattern).map(settled) }
}

function withPattern(change: LockChange): NamedChange {
  const own = 'tool' in change ? `${change.server}.${change.tool}` : undefined
  const name = own ?? ('item' in change ? change.name : change.server)
  return { ...change, pattern: `${name}@${changeDigest(change)}` }
}
