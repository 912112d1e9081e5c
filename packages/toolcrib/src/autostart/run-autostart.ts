import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { ToolcribError } from '@toolcrib/core'
import { replaceText } from '@toolcrib/mcp/clients'
import pc from 'picocolors'
import { clientPlace } from '../clients/client-place.ts'
import { clientConfig } from '../config/client-config.ts'
import { RunningGateway } from '../gateway/running-gateway.ts'
import { confirm } from '../terminal/confirm.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plain, shellWord } from '../terminal/text.ts'
import { type Command, type LoginItem, loginItem } from './login-item.ts'

export interface AutostartFlags {
  readonly config?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly json?: boolean
  /** true: only what went wrong is printed. */
  readonly quiet?: boolean
}

/** Lets the system start a gateway at login, ends that, or says whether it does. */
export async function runAutostart(
  terminal: Terminal,
  action: 'on' | 'off' | 'status',
  flags: AutostartFlags,
): Promise<number> {
  const config = await clientConfig(terminal, flags)
  const { home, platform, env } = clientPlace(terminal)
  const item = loginItem({ platform, home, env, uid: process.getuid?.(), program: terminal.program, config })
  if (item === undefined)
    throw new ToolcribError(
      'config-invalid',
      `toolcrib knows no way to start a gateway at login on ${platform}`,
    )
  if (action === 'status') return showStatus(terminal, item, { config, json: flags.json })
  return action === 'on' ? turnOn(terminal, item, flags) : turnOff(terminal, item, flags)
}

async function showStatus(
  terminal: Terminal,
  { kind, path }: LoginItem,
  { config, json }: { readonly config: string; readonly json: boolean | undefined },
): Promise<number> {
  const isOn = existsSync(path)
  const running = await RunningGateway.find({ config: { files: [config] } }, terminal.env)
  if (json) terminal.printJson({ on: isOn, path, running: running?.report.url ?? null })
  else {
    const how = isOn ? `${pc.green('on')}: the ${kind} ${path}` : 'off'
    terminal.say(`autostart is ${how}`)
    terminal.say(running ? `a gateway is running ${running.place}` : 'no gateway is running now')
  }
  return 0
}

async function turnOn(terminal: Terminal, item: LoginItem, flags: AutostartFlags): Promise<number> {
  const { kind, path, text, encoding, enable, forget } = item
  if (!flags.json) {
    terminal.say(`${pc.bold(`the ${kind}`)}  ${pc.dim(path)}`)
    for (const line of text.trimEnd().split('\n')) terminal.print(`  ${line}`)
    showCommands(terminal, 'then', enable)
  }
  if (!(await isMeant(terminal, flags, 'Write it?'))) {
    if (flags.json) terminal.printJson({ on: existsSync(path), path, written: false, text })
    else terminal.say(`nothing was written${flags.dryRun ? '' : '; use --yes to write it'}`)
    return flags.dryRun ? 0 : 1
  }
  const before = existsSync(path)
  await replaceText(path, encoding === 'utf8' ? text : Buffer.from(`\uFEFF${text}`, encoding))
  const fault = await runAll(enable, terminal)
  if (fault !== undefined) {
    // The system does not know it, so the file would mislead.
    if (!before) await rm(path, { force: true })
    await runAll(forget, terminal)
    throw new ToolcribError('source-unavailable', `autostart is not on: ${fault}`)
  }
  if (flags.json) terminal.printJson({ on: true, path, written: true, text })
  else {
    terminal.say(
      `${pc.green('on')} a gateway starts each time you log in, and runs now; see "toolcrib status"`,
    )
    terminal.say(pc.dim('undo with "toolcrib autostart off"'))
  }
  return 0
}

async function turnOff(terminal: Terminal, item: LoginItem, flags: AutostartFlags): Promise<number> {
  const { kind, path, disable, forget } = item
  if (!existsSync(path)) {
    if (flags.json) terminal.printJson({ on: false, path, written: false })
    else if (!flags.quiet) terminal.say('autostart is off already')
    return 0
  }
  if (!flags.json && !flags.quiet) {
    showCommands(terminal, 'first', disable)
    terminal.say(`removes the ${kind} ${path}`)
  }
  if (!(await isMeant(terminal, flags, 'Do this?'))) {
    if (flags.json) terminal.printJson({ on: true, path, written: false })
    else terminal.say(`nothing was changed${flags.dryRun ? '' : '; use --yes to change it'}`)
    return flags.dryRun ? 0 : 1
  }
  const fault = await runAll(disable, terminal)
  await rm(path, { force: true })
  await runAll(forget, terminal)
  // The file is gone, so the system starts nothing at the next login.
  if (fault !== undefined) terminal.warn(`the gateway may still be running: ${fault}; see "toolcrib status"`)
  if (flags.json) terminal.printJson({ on: false, path, written: true })
  else if (!flags.quiet) terminal.say(`${pc.green('off')} no gateway starts when you log in`)
  return 0
}

function showCommands(terminal: Terminal, when: string, commands: readonly Command[]): void {
  for (const words of commands) terminal.say(pc.dim(`  ${when}: ${words.map(shellWord).join(' ')}`))
}

/** Without a terminal nothing is changed unless `--yes` says so. */
async function isMeant(
  terminal: Terminal,
  { dryRun, yes, json }: AutostartFlags,
  question: string,
): Promise<boolean> {
  if (dryRun) return false
  if (yes) return true
  return !json && terminal.isInteractive && confirm(terminal, question, { isDefault: true })
}

/** Runs the commands one after the other, and returns why one of them failed. */
async function runAll(commands: readonly Command[], { env }: Terminal): Promise<string | undefined> {
  for (const [program, ...args] of commands)
    try {
      await promisify(execFile)(program, args, { env, timeout: COMMAND_MS })
    } catch (error) {
      const said = error instanceof Error && 'stderr' in error ? plain(String(error.stderr)) : ''
      const reason = said || (error instanceof Error ? plain(error.message) : String(error))
      return `"${[program, ...args].join(' ')}" failed: ${reason}`
    }
  return undefined
}

const COMMAND_MS = 30_000
