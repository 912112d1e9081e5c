import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadCase } from '../../packages/toolcrib/src/eval/load-case.ts'
import { harvest } from './harvest.ts'
import type { LabelledCase } from './labelled-case.ts'
import { PUBLISHED_SERVERS } from './published-servers.ts'

const FOLDER = '.bench/harvest'

/** Hand-written queries for the servers of published-servers.ts, by someone who does not know their tools. */
const QUERIES = join(import.meta.dirname, 'harvested-queries.jsonl')

/** Requests that none of the servers can serve. */
export const UNANSWERABLE: readonly string[] = [
  'order a large pizza with mushrooms',
  'switch off the lights in the living room',
  'will it rain in Oslo tomorrow',
  'play some quiet jazz',
  'what was my heart rate during the run this morning',
  'book me a flight to Rome on Saturday',
  'sell ten shares of Nvidia when they reach 200',
  'start the robot vacuum',
  'who won the match last night',
  'renew my passport',
  'call a taxi to the station',
  'how many calories are in a banana',
]

/**
 * Real servers' tools, listed at run time, and our own queries. With `atHandOnly`, only the servers installed with
 * this project, without network. Returns undefined, and prints the reasons, when no server could be asked.
 */
export async function harvestedCase({
  atHandOnly,
}: {
  atHandOnly: boolean
}): Promise<LabelledCase | undefined> {
  const servers = PUBLISHED_SERVERS.filter(({ isAtHand }) => isAtHand || !atHandOnly)
  const { tools, failures } = await harvest(servers, FOLDER)
  for (const { server, reason } of failures) console.log(`  left out: ${server}: ${reason}`)
  if (tools.length === 0) return undefined
  const toolsFile = join(FOLDER, 'tools.jsonl')
  await writeFile(toolsFile, tools.map((tool) => `${JSON.stringify(tool)}\n`).join(''))
  const { queries } = await loadCase({ tools: toolsFile, queries: QUERIES })
  const ids = new Set(tools.map(({ id }) => id))
  const answerable = queries.filter(({ relevant }) => relevant.every((id) => ids.has(id)))
  if (answerable.length < queries.length)
    console.log(`  ${queries.length - answerable.length} queries left out: their tools are missing`)
  const count = servers.length - failures.length
  return { name: `harvested, ${count} servers`, tools, queries: answerable }
}
