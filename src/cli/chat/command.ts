import { Command, InvalidArgumentError } from 'commander'
import { REGISTRY_HELP, withRegistryFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'
import { PROVIDER_NAMES } from './provider-names.ts'
import type { ChatOptions } from './run-chat.ts'

/** `toolcrib chat`: the agent loop in a terminal. */
export function chatCommand(terminal: Terminal): Command {
  const command = new Command('chat')
    .description(
      'Talk to a model that works with your tools: MCP servers from your config, and the built-in ones.',
    )
    .option(
      '--provider <name>',
      `${PROVIDER_NAMES.join(', ')} (or TOOLCRIB_PROVIDER; else by the key that is set)`,
    )
    .option('--model <id>', 'the model, as its provider calls it (or TOOLCRIB_MODEL)')
    .option(
      '--base-url <url>',
      'a server that speaks the provider’s API; without --provider, Chat Completions',
    )
    .option(
      '--api-key-env <name>',
      'the variable that holds the key; with --base-url alone no key is sent unless named here',
    )
    .option('--config <file>', 'read this config and no other')
    .option('--lockfile <file>', 'the lockfile (default: toolcrib.lock beside the config)')
  return withRegistryFlags(command)
    .option('--builtin', 'add the built-in tools: files below this folder, the web, memory, a board')
    .option('--commands <names>', 'let the model run these commands: git,npm', toNames)
    .option('--agents <folder>', 'agents in Markdown (default: .toolcrib/agents)')
    .option('--system <text>', 'a system prompt')
    .option(
      '--max-iterations <count>',
      'requests a turn may take (25; three times that with deferred tools)',
      toCount,
    )
    .option('--yes', 'run every tool without asking')
    .option('--prompt <text>', 'say this, print the answer and leave')
    .option('--json', 'with --prompt: print the answer, why it stopped and what it took as JSON')
    .addHelpText('after', () => terminal.fit(HELP))
    .action(async (options: ChatOptions, command: Command) => {
      if (options.json && options.prompt === undefined)
        command.error('error: --json needs --prompt', { exitCode: 2 })
      const { runChat } = await import('./run-chat.ts')
      terminal.exitCode = await runChat(terminal, options)
    })
}

const HELP = `
Keys are read from ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or MINIMAX_API_KEY.
You are asked before each call of a tool that does not call itself read-only; with --prompt and no terminal such \
calls are refused unless --yes is given.
${REGISTRY_HELP}

Examples:
  toolcrib chat --provider anthropic --model <id>
  toolcrib chat --base-url http://localhost:11434/v1 --model <id>
  toolcrib chat --prompt "What is open on the board?" --builtin --json

In the chat: /context, /tools, /search, /usage, /clear, /help, /exit. Ctrl-C stops an answer, twice leaves.
Exit codes: 0 done, 1 the model did not finish, 2 wrong usage or bad input.`

function toNames(value: string): readonly string[] {
  return value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

function toCount(value: string): number {
  const count = Number(value)
  if (Number.isInteger(count) && count > 0) return count
  throw new InvalidArgumentError('It must be a whole number, 1 or more.')
}
