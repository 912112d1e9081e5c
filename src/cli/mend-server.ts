import { basename } from 'node:path'
import type { ServerConfig } from 'toolcrib/mcp'
import { plain, shellWord } from './text.ts'

/** What is wrong with a server, in a few words, and what to do about it. */
export interface ServerFault {
  readonly fault: string
  readonly step: string
}

/** Turns the reason why a server failed into one line and a concrete step. */
export function mendServer(server: string, reason: string, config: ServerConfig = {}): ServerFault {
  const [said = '', ...rest] = plain(reason).split(/;\s(?=[a-z])/)
  const variables = /^([\w, ]+) has no value$/.exec(said)?.[1]
  if (variables !== undefined) return { fault: said, step: `set ${variables}` }
  const command = /command "(.*)" not found/.exec(said)?.[1]
  if (command !== undefined)
    return { fault: said, step: `install ${basename(command)}, or correct its command` }
  const limit = /(?:did not connect|no response to the greeting) within (\d+) ms/.exec(said)?.[1]
  if (limit !== undefined)
    return {
      fault: `it hangs: no answer within ${Math.round(Number(limit) / 1000)} s`,
      step: `run it by hand to see what it waits for${byHand(config)}`,
    }
  if (/requires authorization|HTTP 401/.test(said))
    return {
      fault: said,
      step: `set an Authorization header, such as headers = { Authorization = "Bearer \${TOKEN}" }`,
    }
  if (rest.length > 0 && !rest[0]?.startsWith('last output')) return { fault: said, step: rest.join('; ') }
  return {
    fault: plain(reason),
    step: config.url === undefined ? `run it by hand to see why${byHand(config)}` : `check url of ${server}`,
  }
}

function byHand({ command, args = [] }: ServerConfig): string {
  if (command === undefined) return ''
  return `: ${[command, ...args].map(shellWord).join(' ')}`
}
