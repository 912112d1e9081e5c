import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import { cacheDirectory, configDirectory, stateDirectory } from '@toolcrib/mcp'
import { applyDisconnect, connectableClients, planDisconnect } from '@toolcrib/mcp/clients'
import pc from 'picocolors'
import { runAutostart } from '../autostart/run-autostart.ts'
import { clientPlace } from '../clients/client-place.ts'
import { RunningGateway } from '../gateway/running-gateway.ts'
import { confirm } from '../terminal/confirm.ts'
import type { Terminal } from '../terminal/terminal.ts'

export interface UninstallFlags {
  readonly yes?: boolean
  readonly json?: boolean
}

/** Undoes the set-up: nothing is removed unless every program has its servers back. */
export async function runUninstall(
  terminal: Terminal,
  { yes = false, json = false }: UninstallFlags,
): Promise<number> {
  const place = clientPlace(terminal)
  const { env } = terminal
  const connected = (await connectableClients(place)).filter(({ isConnected }) => isConnected)
  const folders = [configDirectory(env), stateDirectory(env), cacheDirectory(env)].flatMap((folder) =>
    folder !== undefined && existsSync(folder) ? [folder] : [],
  )
  const gateways = await RunningGateway.all(env)
  if (!json) {
    for (const { title } of connected) terminal.say(`gives ${title} its own servers back`)
    for (const { place: where } of gateways) terminal.say(`stops the gateway ${where}`)
    for (const folder of folders) terminal.say(`removes ${folder}`)
    if (connected.length + gateways.length + folders.length === 0) terminal.say('there is nothing to remove')
  }
  const isMeant = yes || (!json && terminal.isInteractive && (await confirm(terminal, 'Do this?')))
  if (!isMeant) {
    if (json) terminal.printJson({ removed: false, folders })
    else terminal.say('nothing was removed; use --yes to remove it')
    return 1
  }
  for (const { client } of connected) {
    const change = await planDisconnect(client, place)
    if (change) await applyDisconnect(change, place)
  }
  const left = await oldConfigs(stateDirectory(env))
  if (left.length > 0) {
    const step = 'correct the config of that program, or copy it back by hand; then remove the file'
    throw new ToolcribError(
      'config-invalid',
      `nothing was removed: ${left.join(', ')} is the old config of a program that cannot be disconnected; ${step}`,
    )
  }
  const own = configDirectory(env)
  if (own !== undefined && existsSync(join(own, 'toolcrib.toml')))
    await runAutostart(terminal, 'off', { config: join(own, 'toolcrib.toml'), yes: true, quiet: true })
  await Promise.all(gateways.map((gateway) => gateway.stop()))
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
  if (json) terminal.printJson({ removed: true, folders, clients: connected.map(({ client }) => client) })
  else
    terminal.say(
      `${pc.green('removed')}; restart the programs. The program itself goes with "npm uninstall -g toolcrib"`,
    )
  return 0
}

/** The old configs of programs that are still connected: nobody has another copy. */
async function oldConfigs(state: string | undefined): Promise<string[]> {
  if (state === undefined) return []
  const folder = join(state, 'clients')
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => name.endsWith('.before')).map((name) => join(folder, name))
}
