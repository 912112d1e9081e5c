import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib memory`: what is remembered of past use; exports and forgets it. */
export function memoryCommand(terminal: Terminal): Command {
  return (
    defineCommand(terminal, 'memory', HELP, async () => (await import('./run-memory.ts')).runMemory)
      .description('Show, export or forget what the search has learned from past use.')
      // Hidden: there is no such command, but the error names the flag that was meant.
      .argument('[word]')
      .usage('[options]')
      .option('--forget-tool <name>', 'forget one tool, such as github.create_issue')
      .option('--forget-server <name>', 'forget all tools of one server')
      .option('--forget-all', 'forget everything')
      .option('--store <place>', 'the --store of a gateway with replicas: file:DIR or redis://…')
      .option('--config <file>', 'read only this config file')
      .option('--json', 'print everything that is remembered as JSON')
  )
}

const HELP = `
When a model searches, calls a tool that the search returned, and the call succeeds, serve and chat remember that this tool \
served such a request, and rank it higher for similar ones. Kept is a vector of the request without its values (the words of a short \
request can be guessed from it), the tool, how often and when: at most 500 requests per config or client, in your state folder. \
Half of the weight fades in 30 days. Nothing is sent anywhere, and servers cannot write here.

Turn it off with one line in the config (or TOOLCRIB_MEMORY=false):
  [tools]
  memory = false
With memory_text = true below [tools], the text of requests is kept too, so that this command can show it.

Examples:
  toolcrib memory                        what is remembered, the strongest first
  toolcrib memory --json > memory.json   export
  toolcrib memory --forget-tool github.create_issue
  toolcrib memory --forget-server github
  toolcrib memory --forget-all
  toolcrib eval --queries q.jsonl --history past.jsonl   what memory would give
github is an example; use the name of your server.
Exit codes: 0 done, 1 the store cannot be read or nothing of that name is remembered, 2 wrong usage or bad config.`
