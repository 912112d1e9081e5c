import { basename } from 'node:path'
import { commandWords, type ServerConfig } from '@toolcrib/mcp'
import { plain, shellWord } from '../terminal/text.ts'

/** What is wrong with a server, in a few words, and how to fix it. */
export interface ServerFault {
  readonly fault: string
  readonly step: string
  /** It had time to answer, and did not. */
  readonly isHanging?: boolean
  /** Variables that the server asks for and the config does not pass on to it. */
  readonly wants?: readonly string[]
}

/**
 * Turns the reason for a server's failure into one line and a concrete step. If the server failed in an earlier process
 * and was not started again, the step ends with how to try it now.
 */
export function mendServer(server: string, reason: string, config: ServerConfig = {}): ServerFault {
  const fault = mendNow(server, reason, config)
  return PAUSE.test(plain(reason)) ? { ...fault, step: `${fault.step}; ${TRY_NOW}` } : fault
}

const TRY_NOW = 'then try it at once with "toolcrib doctor"'

/** Why a server failed, for a process that ends before it would try it again. */
export function describeFailed(reason: string): string {
  return `failed: ${plain(reason).replace(/; next attempt in [^,;]*, or now with /, '; try it now with ')}`
}

function mendNow(server: string, reason: string, config: ServerConfig): ServerFault {
  const first = withoutPauses(server, plain(reason))
  const [said = '', ...rest] = first.split(/;\s(?=[a-z])/)
  const variables = /^([\w, ]+) has no value$/.exec(said)?.[1]
  if (variables !== undefined) return { fault: said, step: `set ${variables}` }
  const command = /command "(.*)" not found/.exec(said)?.[1]
  if (command !== undefined)
    return { fault: said, step: `install ${basename(command)}, or correct its command` }
  const waitedMs = msWaited(said)
  if (waitedMs !== undefined) {
    const isHanging = waitedMs >= HANGS_AFTER_MS
    return {
      fault: `${isHanging ? 'it hangs: ' : ''}no answer within ${shownTime(waitedMs)}`,
      step: `run it by hand to see what it waits for${byHand(config)}; if it only starts slowly, increase connect_timeout_ms`,
      ...(isHanging ? { isHanging } : {}),
    }
  }
  if (/requires authorization|HTTP 401/.test(said))
    return {
      fault: said,
      step: `set an Authorization header, such as headers = { Authorization = "Bearer \${TOKEN}" }`,
    }
  const [, missing] = /Cannot find (?:module|package) '([\w@][^']*)'(?: imported from|$)/.exec(first) ?? []
  if (missing !== undefined && config.url === undefined && rest[0]?.startsWith('last output'))
    return { fault: first, step: `install ${missing} where the server runs` }
  const output = rest.findIndex((part) => part.startsWith('last output'))
  if (rest.length > 0 && output !== 0) return { fault: said, step: rest.join('; ') }
  const wants = output < 0 ? [] : wantedVariables(rest.slice(output).join('; '), config)
  if (wants.length > 0) return { fault: first, step: `set ${wants.join(' and ')}${passedOn(wants)}`, wants }
  return {
    fault: first,
    step:
      config.url === undefined ? `run it by hand to see why${byHand(config)}` : `check the url of ${server}`,
  }
}

/** Variables that a server's last output names as missing. */
function wantedVariables(output: string, { env = {} }: ServerConfig): string[] {
  if (
    !/\b(?:required|missing|not (?:set|found|defined|provided)|must be (?:set|provided)|set the|please set)\b/i.test(
      output,
    )
  )
    return []
  const names = output.match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g) ?? []
  const isVariable = (name: string) => !/^(?:ERR_|MODULE_NOT_FOUND$)/.test(name) && !Object.hasOwn(env, name)
  return [...new Set(names)].filter(isVariable).slice(0, MAX_WANTED)
}

/** More names than this are a list of everything that could be set. */
const MAX_WANTED = 4

/** Servers inherit only a few variables, so the config has to name the others. */
function passedOn(names: readonly string[]): string {
  return `, and pass it on with env = { ${names.map((name) => `${name} = "\${${name}}"`).join(', ')} }`
}

/** A server that takes longer than this is not just slow to start. */
const HANGS_AFTER_MS = 10_000

/** Removes when it is tried again, and the server's name: the reader sees the server, and may not wait. */
function withoutPauses(server: string, reason: string): string {
  const said = reason.replace(PAUSE, '').replace(/; it failed too often, next attempt in \d+ s$/, '')
  const prefix = `server "${server}" is disconnected: `
  return said.startsWith(prefix) ? said.slice(prefix.length) : said
}

/** Where the reason of a recently failed server continues with the time of the next attempt. */
const PAUSE = / \(failed [^()]* ago, so it was not started again;.*$/

function msWaited(said: string): number | undefined {
  const ms = /(?:did not connect|no response to the greeting) within (\d+) ms/.exec(said)?.[1]
  const seconds = /^it had not connected after (\d+) s, when it was closed/.exec(said)?.[1]
  if (seconds !== undefined) return Number(seconds) * 1000
  return ms === undefined ? undefined : Number(ms)
}

function shownTime(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`
}

/** The command, if there is one, for a person to type. Others may see the screen, so secrets are masked. */
function byHand(config: ServerConfig): string {
  const words = commandWords(config)
  return words.length === 0 ? '' : `: ${words.map(shown).join(' ')}`
}

function shown(word: string): string {
  return word.includes('•••') ? word : shellWord(word)
}
