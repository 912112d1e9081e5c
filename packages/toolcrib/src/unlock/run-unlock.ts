import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { forgetLock } from '@toolcrib/mcp'
import pc from 'picocolors'
import { reloadGateways } from '../gateway/require-gateway.ts'
import { findWithFlags } from '../servers/with-registry.ts'
import { confirm } from '../terminal/confirm.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plural } from '../terminal/text.ts'

export interface UnlockFlags extends ServerFlags {
  readonly yes?: boolean
}

/** Removes the lockfile that `toolcrib lock` writes, so that nothing is held back. */
export async function runUnlock(terminal: Terminal, flags: UnlockFlags): Promise<number> {
  const { yes = false, json = false } = flags
  const found = await findWithFlags(terminal, flags, { lenient: true })
  const layer = found.locks.findLast(({ servers }) => servers.size > 0)
  const path = layer?.path ?? found.lockPath
  const isThere = existsSync(path)
  const servers = plural(layer?.lockfile?.servers.size ?? 0, 'server')
  const question = `Remove ${path}, with the approvals of ${servers}?`
  const isMeant = isThere && (yes || (!json && terminal.isInteractive && (await confirm(terminal, question))))
  if (isMeant || !isThere) await forgetLock(path, terminal.env)
  if (isMeant) {
    // The definitions, for `diff`, are beside it.
    await Promise.all([path, `${path}.gz`].map((file) => rm(file, { force: true })))
    await reloadGateways(terminal, found)
  }
  if (json) terminal.printJson({ lockfile: path, removed: isMeant })
  else if (!isThere) terminal.say(`${path} does not exist, so nothing is locked`)
  else if (isMeant) terminal.say(`${pc.green('removed')} ${path}; lock again with "toolcrib lock"`)
  else terminal.say('nothing was removed; use --yes to remove it')
  return isMeant || !isThere ? 0 : 1
}
