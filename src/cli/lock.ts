import { Command } from 'commander'
import pc from 'picocolors'
import { compareWithLock, type Lockfile, lockServers, writeLockfile } from 'toolcrib/mcp'
import { observeServers } from './observe-servers.ts'
import { findConfigAndDamage, type ServerFlags, withServerFlags } from './open-registry.ts'
import { showChanges } from './show-changes.ts'
import { plain, plural, print, printJson } from './terminal.ts'

/** `toolcrib lock`: approves the servers as they are now. */
export function lockCommand(): Command {
  return withServerFlags(new Command('lock'))
    .description(
      'Write toolcrib.lock from what the servers list now; from then on, nothing changes unnoticed.',
    )
    .addHelpText('after', HELP)
    .action(async (flags: ServerFlags) => {
      const { damage, ...found } = await findConfigAndDamage(flags)
      const { lockPath, lockfile: before } = found
      const { observed, failed } = await observeServers(flags, () => true, found)
      const lockfile = keepUnreachable(lockServers(observed), before, failed)
      const changes = before ? compareWithLock(before, observed) : []
      await writeLockfile(lockPath, lockfile)
      const tools = [...lockfile.servers.values()].reduce((sum, server) => sum + server.tools.size, 0)
      if (flags.json)
        printJson({
          lockfile: lockPath,
          servers: lockfile.servers.size,
          tools,
          changes,
          failed,
          replaced: damage !== undefined,
        })
      else {
        if (damage !== undefined)
          console.error(`${pc.yellow('note')} ${lockPath} was damaged, and is written anew: review all of it`)
        showChanges(changes)
        const what = `${plural(lockfile.servers.size, 'server')}, ${plural(tools, 'tool')}`
        print(`${pc.green('locked')} ${what} in ${lockPath}`)
        for (const { server, reason } of failed) {
          const kept = lockfile.servers.has(server) ? 'its old approval stays' : 'it is not in the lockfile'
          console.error(`${pc.red('failed')} ${server}: ${plain(reason)}; ${kept}`)
        }
      }
      process.exitCode = failed.length > 0 ? 1 : 0
    })
}

/** A server that cannot be asked today loses nothing that was approved before. */
function keepUnreachable(
  { servers }: Lockfile,
  before: Lockfile | undefined,
  failed: readonly { readonly server: string }[],
): Lockfile {
  const kept = new Map(servers)
  for (const { server } of failed) {
    const locked = before?.servers.get(server)
    if (locked) kept.set(server, locked)
  }
  return { servers: kept }
}

const HELP = `
Starts every configured server and approves all it lists: look at "toolcrib diff" first, once there is a lockfile.
Commit toolcrib.lock; it is made for review. It holds names of variables, never their values.

From then on a tool whose name, title, description, schemas or annotations change is in quarantine, neither found nor
callable, and a server whose command changes is not started, until "toolcrib approve". A damaged lockfile is written
anew; what it held is not believed.

Examples:
  toolcrib lock
  toolcrib lock --config team/toolcrib.toml --json
Exit codes: 0 done, 1 some server could not be asked, 2 wrong usage or no config.`
