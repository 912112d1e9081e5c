import { describe, expect, it } from 'vitest'
import { defineTool, hybrid, type SessionOptions, ToolRegistry } from '../packages/core/src/index.ts'
import { staticEmbedder } from '../packages/embedder/src/static-embedder.ts'

type Tools = readonly (readonly [name: string, description: string])[]

interface Answer {
  readonly total: number
  readonly matches: readonly { readonly name: string; readonly score: number; readonly parameters: object }[]
  readonly activated: readonly string[]
  readonly already_found?: readonly string[]
  readonly next_offset?: number
  readonly unmatched_terms?: readonly string[]
  readonly note?: string
  readonly hint?: string
}

const MAIL: Tools = [
  ['send_mail', 'Sends an email message to a person'],
  ['resize_image', 'Resizes an image file'],
  ['play_music', 'Plays a song on the speakers'],
]

async function open(tools: Tools, options: SessionOptions = {}) {
  const registry = new ToolRegistry({ mode: 'lazy', defer: 'all' })
  for (const [name, description] of tools)
    registry.register(
      defineTool({
        name,
        description,
        inputSchema: { type: 'object', properties: { to: { type: 'string' } } },
        execute: () => 'done',
      }),
    )
  const session = await registry.openSession(options)
  const search = async (query: string, more: object = {}) => {
    const args = { query, ...more }
    const [executed] = await session.execute([{ toolCallId: '1', name: 'tool_search', args }])
    return executed?.result.ok ? (executed.result.structured as Answer) : expect.fail('the search failed')
  }
  return { session, search }
}

const namesOf = ({ matches }: Answer) => matches.map(({ name }) => name)

describe('what a model searches for', () => {
  it('is found after a hint has named it', async () => {
    const { session, search } = await open(MAIL, { searcher: hybrid({ embedder: staticEmbedder() }) })
    const [message] = await session.hinted([
      { role: 'user', content: 'Send an email message to a person, please' },
    ])
    expect(message?.content).toContain('Tools that may fit: send_mail')
    const answer = await search('send email message to somebody')
    expect(namesOf(answer)).toContain('send_mail')
    expect(answer.activated).toContain('send_mail')
    expect(answer).not.toHaveProperty('note')
    expect(answer).not.toHaveProperty('hint')
  })

  it('is found after the host has searched for it', async () => {
    const { session, search } = await open(MAIL)
    await session.search('send email message')
    const answer = await search('send email person')
    expect(answer.activated).toEqual(['send_mail'])
    expect(answer).not.toHaveProperty('hint')
  })
})

describe('a second search for the same thing in other words', () => {
  const CHAT: Tools = [
    ['send_slack_message', 'Sends a message to a slack channel'],
    ['page_oncall', 'Wakes the person on call; can send a text'],
  ]

  it('is not one that shares a single word with the first', async () => {
    const { search } = await open(CHAT, { searcher: 'weighted' })
    await search('send slack message')
    const answer = await search('send page')
    expect(namesOf(answer)).toContain('page_oncall')
    expect(answer.activated).toContain('page_oncall')
    const lexical = await open(CHAT)
    await lexical.search('send slack message')
    const other = await lexical.search('page message')
    expect(namesOf(other)).toEqual(expect.arrayContaining(['page_oncall', 'send_slack_message']))
    expect(other).not.toHaveProperty('unmatched_terms')
    await lexical.search('send mail')
    expect(await lexical.search('send')).toMatchObject({ total: 2, matches: { length: 2 } })
  })

  it('returns a tool again that the first was too weak to activate', async () => {
    const { search } = await open(CHAT, { searcher: 'weighted' })
    const first = await search('send slack message channel send_slack_message')
    expect(namesOf(first)).toContain('page_oncall')
    expect(first.activated).toEqual(['send_slack_message'])
    const answer = await search('send message page')
    expect(namesOf(answer)).toEqual(['page_oncall'])
    expect(answer.activated).toEqual(['page_oncall'])
    expect(answer.already_found).toEqual(['send_slack_message'])
  })

  it('returns active tools again if nothing else fits', async () => {
    const { search } = await open(MAIL)
    await search('send email message')
    const answer = await search('send email person')
    expect(answer.matches).toMatchObject([{ name: 'send_mail', schema: 'in your list of tools' }])
    expect(answer).toMatchObject({ total: 1, activated: ['send_mail'] })
    for (const key of ['note', 'hint', 'unmatched_terms', 'already_found'])
      expect(answer).not.toHaveProperty(key)
  })

  it('is not one for the opposite, whose best tool the first found as another match', async () => {
    const { search } = await open(
      [
        ['open_ticket', 'Opens a new ticket in the issue tracker'],
        ['close_ticket', 'Closes a ticket in the issue tracker'],
        ['cancel_event', 'Cancels an event in the calendar'],
      ],
      { searcher: hybrid({ embedder: staticEmbedder() }), maxActive: 0 },
    )
    await search('select:open_ticket,close_ticket')
    const first = await search('open a ticket')
    expect(namesOf(first).slice(0, 2)).toEqual(['open_ticket', 'close_ticket'])
    const answer = await search('close a ticket')
    expect(namesOf(answer)[0]).toBe('close_ticket')
    expect(answer).not.toHaveProperty('already_found')
  })

  it('gives other tools no higher score because the best one is left out', async () => {
    const WEATHER: Tools = [
      ['get_forecast', 'Returns the weather forecast for a city'],
      ['get_air_quality', 'Returns the air quality of a city'],
      ['send_mail', 'Sends an email message to a person'],
    ]
    const { search } = await open(WEATHER, { searcher: hybrid({ embedder: staticEmbedder() }) })
    await search('weather forecast for a city', { limit: 1 })
    const answer = await search('what will the weather be in my city')
    expect(answer.already_found).toEqual(['get_forecast'])
    expect(answer.matches.map(({ score }) => score < 0.3)).not.toContain(false)
    expect(answer.note).toMatch(/^No other tool fits as well as already_found, so none was loaded\./)
  })

  it('counts what it leaves out among what fits, and knows its words', async () => {
    const { search } = await open([...MAIL, ['mail_merge', 'Fills a letter template']])
    await search('send mail', { limit: 1 })
    const answer = await search('send mail merge email')
    expect(answer.already_found).toEqual(['send_mail'])
    expect(namesOf(answer)).toEqual(['mail_merge'])
    expect(answer.total).toBe(2)
    expect(answer).not.toHaveProperty('unmatched_terms')
    expect(answer).not.toHaveProperty('hint')
  })

  it('has no further pages: those would have what it left out', async () => {
    const tools = Array.from(
      { length: 12 },
      (_, at) => [`send_mail_${at}`, 'Sends an email message'] as const,
    )
    const { search } = await open(tools.map(([name, text], at) => [name, `${text} by way ${at}`]))
    const first = await search('send email message')
    expect(first.next_offset).toBe(5)
    const answer = await search('send email way')
    expect(namesOf(answer)).toHaveLength(5)
    for (const name of namesOf(answer)) expect(namesOf(first)).not.toContain(name)
    expect(answer).not.toHaveProperty('next_offset')
  })
})
