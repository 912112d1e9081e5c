import type { Prices } from '@toolcrib/core/agent'
import { Command, InvalidArgumentError } from 'commander'
import { REGISTRY_HELP, withRegistryFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { PROVIDER_NAMES } from './provider-names.ts'
import type { ChatOptions } from './run-chat.ts'

/** `toolcrib chat`: the agent loop in a terminal. */
export function chatCommand(terminal: Terminal): Command {
  const command = new Command('chat')
    .description(
      'Talk to a model that uses your tools: MCP servers from your config, and the built-in tools.',
    )
    .option(
      '--provider <name>',
      `${PROVIDER_NAMES.join(', ')} (or TOOLCRIB_PROVIDER; by default the one whose key is set)`,
    )
    .option('--model <id>', "the model, by the provider's id (or TOOLCRIB_MODEL)")
    .option('--base-url <url>', "a server with the provider's API; without --provider, with Chat Completions")
    .option(
      '--api-key-env <name>',
      'the variable with the key; with --base-url alone, a key is sent only if named here',
    )
    .option('--config <file>', 'read only this config file')
    .option('--lockfile <file>', 'use this lockfile (default: toolcrib.lock beside the config)')
  return withRegistryFlags(command)
    .option('--builtin', 'add the built-in tools: files below this folder, web, memory, kanban board')
    .option('--commands <names>', 'let the model run these commands: git,npm', toNames)
    .option('--agents <folder>', 'agents in Markdown (default: .toolcrib/agents)')
    .option('--system <text>', 'a system prompt')
    .option(
      '--max-iterations <count>',
      'maximum requests per turn (default: 25; 75 with deferred tools)',
      toCount,
    )
    .option('--max-cost <dollars>', 'stop at this cost, sub-agents included; needs --price', toDollars)
    .option('--max-tokens <count>', 'stop at this many tokens, sub-agents included', toCount)
    .option(
      '--price <in,cached,write,out>',
      'dollars per million tokens of input, cached input, cache writes and output: 4,0.2,5,20',
      toPrice,
    )
    .option('--yes', 'run every tool without asking')
    .option('--prompt <text>', 'send this, print the answer and exit')
    .option('--json', 'with --prompt: print answer, stop reason and usage as JSON')
    .addHelpText('after', () => terminal.help(HELP))
    .action(async (options: ChatOptions, command: Command) => {
      if (options.json && options.prompt === undefined)
        command.error('error: --json needs --prompt', { exitCode: 2 })
      if (options.maxCost !== undefined && options.price === undefined)
        command.error('error: --max-cost needs --price, since prices are not known here', { exitCode: 2 })
      if (options.prompt?.trim() === '') command.error('error: --prompt is empty', { exitCode: 2 })
      const { runChat } = await import('./run-chat.ts')
      terminal.exitCode = await runChat(terminal, options)
    })
}

const HELP = `
Keys are read from ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or MINIMAX_API_KEY.
Asks before each call of a tool that is not annotated as read-only. With --prompt and no terminal, such calls are denied \
unless --yes is given.
${REGISTRY_HELP}

Examples:
  toolcrib chat --provider anthropic --model <id>
  toolcrib chat --base-url http://localhost:11434/v1 --model <id>
  toolcrib chat --prompt "What is open on the board?" --builtin --json

In the chat: /context, /tools, /search, /usage, /clear, /help, /exit. Ctrl-C stops an answer; pressed twice, it exits.
Exit codes: 0 done, 1 the model did not finish, 2 wrong usage or bad input.`

function toNames(value: string): readonly string[] {
  return value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

function toDollars(value: string): number {
  const dollars = Number(value)
  if (value.trim() !== '' && Number.isFinite(dollars) && dollars >= 0) return dollars
  throw new InvalidArgumentError('It must be a number, 0 or more.')
}

function toPrice(value: string): Prices {
  const [input, cachedInput, cacheWrite, output, ...more] = value.split(',').map(toDollars)
  if (input === undefined || cachedInput === undefined || cacheWrite === undefined || output === undefined)
    throw new InvalidArgumentError('It must be four numbers: input, cached input, cache writes, output.')
  if (more.length > 0) throw new InvalidArgumentError('It must be four numbers, not more.')
  return { input, cachedInput, cacheWrite, output }
}

function toCount(value: string): number {
  const count = Number(value)
  if (Number.isInteger(count) && count > 0) return count
  throw new InvalidArgumentError('It must be a whole number, 1 or more.')
}
