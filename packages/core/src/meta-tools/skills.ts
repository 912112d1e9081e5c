import { isRecord } from '../json.ts'
import { nearestName } from '../nearest-name.ts'
import type { ViewBuilder } from '../registry/view-builder.ts'
import type { Searcher } from '../search/searcher.ts'
import { type Audience, SessionAudience } from '../search/tool-finder.ts'
import type { SearchKind, Skill, SkillShelf } from '../skills/skill-shelf.ts'
import { clipText, estimateTokens } from '../text.ts'
import type { Listing, Tool, ToolResult } from '../tool.ts'
import { answer, echo, inputInvalid } from './answer.ts'

/** A skill that a search found. */
export interface SkillMatch {
  readonly name: string
  readonly score: number
  readonly description: string
  /** How many tools fit better. */
  readonly toolsBefore: number
}

/** The skills of a shelf as one session may use them, and the meta-tools about them. */
export class SessionSkills {
  /** Whether a search covers them if it does not say. */
  readonly isSearched: boolean
  readonly #shelf: SkillShelf
  readonly #searcher: Searcher
  readonly #views: Pick<ViewBuilder, 'policy' | 'current'>

  constructor(
    shelf: SkillShelf,
    { searcher, searchKinds }: { readonly searcher: Searcher; readonly searchKinds: readonly SearchKind[] },
    views: Pick<ViewBuilder, 'policy' | 'current'>,
  ) {
    this.#shelf = shelf
    this.#searcher = searcher
    this.#views = views
    this.isSearched = searchKinds.includes('skill')
  }

  /** Those that the policy permits, sorted by name. `allow` and `deny` name them `skill__local__<name>`. */
  list(): readonly Skill[] {
    const snapshot = this.#shelf.snapshot()
    return snapshot.sorted.flatMap((entry) => {
      const isPermitted = this.#views.policy.denial(entry, snapshot) === undefined
      return (isPermitted && this.#shelf.get(entry.listing.ownName)) || []
    })
  }

  /** Finds permitted skills, among the tools that a search finds or alone. */
  async search(query: string, amongTools: boolean): Promise<readonly SkillMatch[]> {
    const snapshot = this.#shelf.snapshot()
    const audience = amongTools ? new SessionAudience(this.#views, 'deferred') : NO_TOOLS
    const besides = ({ name }: Listing) => {
      const entry = snapshot.get(name)
      return entry !== undefined && this.#views.policy.denial(entry, snapshot) === undefined
    }
    const request = { query, limit: RANKED, searcher: this.#searcher, audience, besides }
    const { result } = await this.#shelf.finder.rank(request)
    let toolsBefore = 0
    return result.matches.flatMap(({ name, score, description }): SkillMatch[] => {
      const entry = snapshot.get(name)
      if (entry !== undefined) return [{ name: entry.listing.ownName, score, description, toolsBefore }]
      toolsBefore++
      return []
    })
  }

  /** What lies behind the search, with skills that the description of `load_skill` does not list. */
  behind(tools: string): string {
    return withSkills(tools, this.list())
  }

  /** A search over tools that finds skills too. */
  searching(search: Tool): Tool {
    return searchingSkills(search, this)
  }

  loadSkill(searchTool: string): Tool {
    return loadSkill(this, searchTool) as Tool
  }

  readSkillFile(): Tool {
    return readSkillFile(this) as Tool
  }
}

const NO_TOOLS: Audience = { permitsServer: () => false, accepter: () => () => false }
/** How many tools and skills are ranked together. */
const RANKED = 10
/** How many skills are named beside tools, and how likely they must be. */
const MAX_BESIDE = 3
const MIN_SCORE = 0.05
/** The description of `load_skill` lists skills up to this size. */
const LISTED_TOKENS = 400

/** `load_skill`: returns the instructions of a skill. */
function loadSkill(skills: SessionSkills, searchTool: string): Tool<{ name: string }> {
  return {
    name: 'load_skill',
    description: `Loads a skill: instructions for a kind of task. Load one that fits before you begin.\n${describeSkills(skills.list(), searchTool)}`,
    inputSchema: {
      type: 'object',
      properties: { name: { type: 'string', description: 'The name of a skill.' } },
      required: ['name'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    async execute({ name }) {
      const skill = skillNamed(name, skills.list())
      if (skill === undefined) return unknownSkill(name, skills.list())
      const files = Object.keys(skill.files ?? {}).sort()
      const rest =
        files.length === 0 ? '' : `\n\n[files of this skill, for read_skill_file: ${files.join(', ')}]`
      return { ok: true, value: (await skill.load()) + rest, structured: { name: skill.name, files } }
    },
  }
}

/** `read_skill_file`: returns one of the other files of a skill. */
function readSkillFile(skills: SessionSkills): Tool<{ name: string; path: string }> {
  return {
    name: 'read_skill_file',
    description: 'Reads a file of a skill; load_skill names them.',
    inputSchema: {
      type: 'object',
      properties: { name: { type: 'string' }, path: { type: 'string' } },
      required: ['name', 'path'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    async execute({ name, path }) {
      const skill = skillNamed(name, skills.list())
      if (skill === undefined) return unknownSkill(name, skills.list())
      const { files = {} } = skill
      const read = Object.hasOwn(files, path) ? files[path] : undefined
      if (read !== undefined) return { ok: true, value: await read() }
      return inputInvalid(
        `"${name}" has no file "${echo(path)}"; it has ${Object.keys(files).sort().join(', ') || 'none'}`,
      )
    },
  }
}

/** `tool_search` over tools and skills. Skills take no place of a tool, and are placed by their score. */
function searchingSkills(search: Tool, skills: SessionSkills): Tool {
  const { inputSchema } = search
  const properties = isRecord(inputSchema) && isRecord(inputSchema.properties) ? inputSchema.properties : {}
  const kinds = {
    type: 'array',
    items: { enum: ['tool', 'skill'] },
    description: `What to look for. Default: ${skills.isSearched ? 'both' : 'tool'}. Load a skill with load_skill.`,
  }
  return {
    ...search,
    inputSchema: { ...(inputSchema as object), properties: { ...properties, kinds } },
    async execute(input, ctx) {
      const {
        query = '',
        kinds,
        name,
        offset,
      } = input as {
        query?: string
        kinds?: readonly string[]
        name?: string
        offset?: number
      }
      // A name is that of a tool, and later pages are of tools.
      if (name?.trim() || query.trim() === '' || offset) return search.execute(input, ctx)
      const isWanted = (kind: string) => kinds?.includes(kind) ?? (kind === 'tool' || skills.isSearched)
      const found = isWanted('skill') ? await skills.search(query, isWanted('tool')) : []
      if (!isWanted('tool')) return answer({ query, total: found.length, matches: found.map(shownMatch) })
      const result = (await search.execute(input, ctx)) as ToolResult
      return result.ok && isRecord(result.structured) ? answer(merged(result.structured, found)) : result
    },
  }
}

/** Puts each skill after the tools that fit better. Beside a tool that fits, an unlikely skill is noise. */
function merged(answered: Record<string, unknown>, skills: readonly SkillMatch[]): object {
  if (!Array.isArray(answered.matches)) return answered
  const matches: object[] = answered.matches.filter(isRecord).map((tool) => ({ kind: 'tool', ...tool }))
  const scores = [...skills, ...answered.matches.filter(isRecord)].map(({ score }) => Number(score))
  const best = Math.max(...scores)
  const likely = skills.filter(({ score }) => score >= Math.max(MIN_SCORE, best / 4)).slice(0, MAX_BESIDE)
  for (const [before, skill] of likely.entries())
    matches.splice(skill.toolsBefore + before, 0, shownMatch(skill))
  const total = Number(answered.total) + likely.length
  if (likely[0]?.toolsBefore !== 0) return { ...answered, total, matches }
  // What was said about tools that do not fit is not true where a skill fits better.
  const { note: _note, hint: _hint, unmatched_terms: _terms, ...rest } = answered
  return { ...rest, total, matches }
}

function shownMatch({ name, score, description }: SkillMatch): object {
  const rounded = Math.round(score * 1_000) / 1_000
  return { kind: 'skill', name, score: rounded, description: clipText(description, 300) }
}

function withSkills(behind: string, all: readonly Skill[]): string {
  return linesOf(all).length === all.length ? behind : `- skills (${all.length})\n${behind}`.trim()
}

/** Names with the beginning of their descriptions, as far as the limit goes. */
function describeSkills(skills: readonly Skill[], searchTool: string): string {
  const lines = linesOf(skills)
  const more = skills.length - lines.length
  return [...lines, ...(more > 0 ? [`- and ${more} more: find them with ${searchTool}`] : [])].join('\n')
}

function linesOf(skills: readonly Skill[]): readonly string[] {
  let left = LISTED_TOKENS
  const lines = skills.map(
    ({ name, description }) => `- ${name}: ${clipText(description.replace(/\s+/g, ' '), 100)}`,
  )
  const end = lines.findIndex((line) => {
    left -= estimateTokens(line)
    return left < 0
  })
  return end < 0 ? lines : lines.slice(0, end)
}

function skillNamed(name: string, skills: readonly Skill[]): Skill | undefined {
  const plain = name.replace(/^skill__local__/, '').toLowerCase()
  return (
    skills.find((skill) => skill.name === name) ?? skills.find((skill) => skill.name.toLowerCase() === plain)
  )
}

function unknownSkill(name: string, skills: readonly Skill[]): ToolResult {
  const nearest = nearestName(
    name,
    skills.map((skill) => skill.name),
  )
  const hint = nearest === undefined ? 'search for what you need' : `did you mean "${nearest}"?`
  return inputInvalid(`there is no skill "${echo(name)}" here; ${hint}`)
}
