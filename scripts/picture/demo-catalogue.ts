import type { JsonSchema, Tool } from '@toolcrib/core'

/** Servers of an imaginary company, with the kinds of records in each. */
const SERVERS: Readonly<Record<string, readonly string[]>> = {
  billing: ['invoice', 'payment', 'refund', 'subscription'],
  calendar: ['event', 'room', 'attendee'],
  chat: ['message', 'channel', 'reaction'],
  cloud: ['instance', 'volume', 'snapshot', 'firewall_rule'],
  code: ['repository', 'pull_request', 'branch', 'review'],
  crm: ['contact', 'deal', 'account', 'note'],
  docs: ['page', 'comment', 'template'],
  files: ['folder', 'document', 'share_link'],
  helpdesk: ['ticket', 'macro', 'customer'],
  hr: ['employee', 'leave_request', 'payslip'],
  inventory: ['item', 'warehouse', 'stock_movement'],
  logs: ['query', 'alert', 'dashboard'],
  mail: ['email', 'label', 'draft'],
  maps: ['place', 'route', 'geofence'],
  metrics: ['series', 'threshold', 'report'],
  shipping: ['parcel', 'carrier', 'pickup'],
  shop: ['product', 'order', 'coupon'],
  survey: ['form', 'response', 'audience'],
  tests: ['suite', 'run', 'flaky_test'],
  travel: ['flight', 'hotel', 'expense'],
  weather: ['forecast', 'station', 'warning'],
  wiki: ['article', 'category', 'revision'],
}

const VERBS: Readonly<Record<string, string>> = {
  list: 'Lists every {noun} in {server}, newest first, with paging and an optional filter.',
  get: 'Gets one {noun} from {server} by its id, with all of its fields.',
  create: 'Creates a new {noun} in {server} and returns its id.',
  update: 'Changes fields of an existing {noun} in {server}.',
  delete: 'Deletes a {noun} from {server} for good; this cannot be undone.',
}

/** A few hundred made-up tools by server. They return immediately and have no side effects. */
export function demoCatalogue(): ReadonlyMap<string, readonly Tool[]> {
  return new Map(
    Object.entries(SERVERS).map(([server, nouns]) => {
      const tools = nouns.flatMap((noun) => Object.keys(VERBS).map((verb) => demoTool(server, verb, noun)))
      return [server, tools]
    }),
  )
}

function demoTool(server: string, verb: string, noun: string): Tool {
  const words = noun.replaceAll('_', ' ')
  return {
    name: `${verb}_${noun}`,
    description: (VERBS[verb] ?? '').replace('{noun}', words).replace('{server}', server),
    inputSchema: demoSchema(verb, words),
    annotations: { readOnlyHint: verb === 'list' || verb === 'get', destructiveHint: verb === 'delete' },
    execute: (input) => ({ ok: true, value: `${verb} ${words} in ${server}: ${JSON.stringify(input)}` }),
  }
}

function demoSchema(verb: string, words: string): JsonSchema {
  const id = { id: { type: 'string', description: `The id of the ${words}.` } }
  const fields = {
    name: { type: 'string', description: `What the ${words} is called.` },
    description: { type: 'string', description: `A few words about the ${words}.` },
    tags: { type: 'array', items: { type: 'string' }, description: 'Tags to find it by.' },
    owner: { type: 'string', description: 'The id of the person responsible.' },
  }
  const paging = {
    filter: { type: 'string', description: `Only ${words} entries that contain this text.` },
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'How many to return.' },
    cursor: { type: 'string', description: 'Where the last page ended.' },
  }
  if (verb === 'list') return { type: 'object', properties: paging }
  if (verb === 'create') return { type: 'object', properties: fields, required: ['name'] }
  if (verb === 'update') return { type: 'object', properties: { ...id, ...fields }, required: ['id'] }
  return { type: 'object', properties: id, required: ['id'] }
}
